"""Methods that merge rows step by step: co-association, trees, and what is read from a tree.

- `dendrogram`: trees as scipy linkage matrices, cut and expanded. Used by eac, ecpcs, hne, lwea.
- `average_link`: average link without a matrix, also on soft members. Used by eac, hne, lwea.
- `trees`: the other linkages, on rows, dense matrices and sparse graphs. Used by eac, ecpcs, hne.
- `co_association`: co-association of rows, sparse, dense or enhanced by similar clusters. Used by eac, ecpcs, hne.
"""
