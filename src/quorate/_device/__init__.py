"""The same line on a CUDA card: where data live, compiled kernels, and the few operations that touch every row.

Nothing here is imported unless a caller asks for a device or passes an array that lives on one, and CuPy is imported
only by `choose`. Array code takes the namespace of a `Card`, which is CuPy's on a real card and NumPy's in the tests;
the kernels in the folder cuda are launched through `Card.launch`, for which the tests have twins.
"""
