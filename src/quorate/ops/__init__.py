"""The numba kernels, and the only numba code of the package: every function takes arrays and returns or fills arrays.

The docstrings use the same letters everywhere: m is the number of rows, H the number of members, d the number of base
clusters of all members together, and K the number of clusters of a labelling. `labels (m, H)` means that the array
`labels` has m rows and H columns; a label of -1 is missing. `offsets (H + 1,)` numbers the base clusters: cluster f of
member q has the number offsets[q] + f, which is called its column. A range "rows start..stop-1" lets several threads
share the rows.

Every kernel has a slow and obvious twin in tests/oracle.py, with which the tests compare it.
"""
