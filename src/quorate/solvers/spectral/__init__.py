"""Methods that cluster rows or base clusters in the space of leading eigenvectors.

- `embedding`: leading eigenvectors, dense and sparse; singular vectors of the one-hot rows, base clusters by random
  walks; k-means of weighted points, and from there to a Consensus. Used by ecpcs, spectral.
- `transfer_cut`: the cut of the graph of rows and base clusters, also on a card. Used by lwgp, transfer.
"""
