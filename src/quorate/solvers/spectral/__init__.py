"""Methods that cluster rows or base clusters in the space of leading eigenvectors.

- `euclidean_kmeans`: k-means of weighted points, and from there to a Consensus. Used by ecpcs, spectral.
- `embedding`: singular vectors of the one-hot rows. Used by spectral.
- `transfer_cut`: the cut of the graph of rows and base clusters. Used by lwgp, transfer.
- `propagation`: similarity of base clusters by random walks. Used by ecpcs.
- `eigen`: leading eigenvectors of symmetric matrices, checked. Used by no method directly, by the other modules here.
"""
