"""Building blocks of methods, which honour counts, member weights and missing labels.

Four families, each with a list of its modules and of the methods that use them: `label_space` (look rows up in tables),
`linkage` (trees), `graphs` (balanced cuts) and `spectral` (eigenvectors). What the families share lies beside them:

- `label_rows`: what methods ask of rows, for labels and soft memberships alike; the one place that knows both.
- `anmi`: ANMI of a labelling and of members.
- `cluster_means`: mean rows of clusters, and gaps of a labelling filled by them.
- `own_shares`: how clearly each row belongs to its cluster; `solve` makes the confidence of all methods out of it.
- `contingency`: tables of two labellings, and NMI, ARI and accuracy from them.
- `draws`: random draws by weight, and the repair of empty clusters.
- `local_weights`: weights of base clusters by how sure the ensemble is of them (lwea, lwgp).
- `member_agreement`: how the members agree with one another, and which labels are missing.
- `member_order`: members sorted by their labels; done by `solve` for all methods.
- `overlaps`: what any two base clusters have in common.
- `sizes`: the bytes that methods need beside the rows, stated from the size of an ensemble.
- `weights`: weights of members and base clusters in every form that is needed.
- `whole_numbers`: real numbers kept as integers of a fixed unit.
"""
