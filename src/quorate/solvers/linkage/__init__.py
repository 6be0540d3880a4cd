"""Methods that merge rows step by step: co-association, trees, and what is read from a tree.

- `tree_consensus`: from a tree over distinct rows to a Consensus. Used by eac, ecpcs, lwea.
- `dendrogram`: trees as scipy linkage matrices: cut, lifetimes, expansion. Used by eac, hne, lwea.
- `average_link`: average link without a matrix. Used by eac, hne, lwea.
- `soft_link`: average link on soft members. Used by eac.
- `trees`: the other linkages, on rows, dense matrices and sparse graphs. Used by eac, ecpcs, hne.
- `co_association`: co-association of pairs of rows, sparse or dense. Used by eac, hne.
- `enhanced`: co-association in which similar clusters count, too. Used by eac, ecpcs.
"""
