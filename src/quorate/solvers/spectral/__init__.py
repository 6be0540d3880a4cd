"""Methods that cluster rows or base clusters in the space of leading eigenvectors.

- `embedding`: leading eigenvectors, and k-means of the points from which a Consensus follows. Used by ecpcs, spectral.
- `transfer_cut`: the cut of the graph of rows and base clusters, also on a card. Used by lwgp, transfer.
"""
