"""The same line on a CUDA card: where data live, compiled kernels, and the few operations that touch every row.

Nothing here is imported unless a caller asks for a device or passes an array that lives on one, and CuPy is imported
only by `choose`. Array code takes the namespace of a `Card`, which is CuPy's on a real card and NumPy's in the tests;
the kernels in the folder cuda are launched through `Card.launch`, for which the tests have twins.

- `choose`: which device a call runs on, and whether arrays live on a card.
- `card`: the card: memory, copies to and from it, and the launch of kernels.
- `device_ensemble`: an ensemble whose labels live on a card, and what is derived from it.
- `card_rows`: codes, distinct rows, order of members. `card_tables`: look-ups of rows, and sums over them.
- `card_points`: the graph of rows and base clusters, and k-means of points. `card_features`: measurements.
"""
