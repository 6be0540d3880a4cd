"""Methods that cluster rows or base clusters in the space of leading eigenvectors.

- `euclidean_kmeans`: k-means of weighted points, and from there to a Consensus. Used by ecpcs, spectral.
- `embedding`: singular vectors of the one-hot rows, base clusters by random walks. Used by ecpcs, spectral.
- `transfer_cut`: the cut of the graph of rows and base clusters, also on a card. Used by lwgp, transfer.
- `eigen`: leading eigenvectors of symmetric matrices, dense and sparse. Used by no method directly, by members.
"""
