"""Methods that cluster rows or base clusters in the space of leading eigenvectors.

- `euclidean_kmeans`: k-means of weighted points, and from there to a Consensus. Used by ecpcs, spectral.
- `embedding`: singular vectors of the one-hot rows. Used by spectral.
- `transfer_cut`: the cut of the graph of rows and base clusters. Used by lwgp, transfer.
- `propagation`: similarity of base clusters by random walks. Used by ecpcs.
- `folded_graph`: eigenvectors of the graph folded onto the clusters. Used by no method directly, by `transfer_cut`.
- `cut_on_card`: the transfer cut of rows on a card. Used by no method directly, by `transfer_cut`.
- `filtered`: leading eigenvectors of sparse matrices. Used by no method directly, by landmark-spectral members.
- `eigen`: leading eigenvectors of symmetric matrices, checked. Used by no method directly, by the other modules here.
"""
