"""Building blocks of methods, which honour counts, member weights and missing labels.

Four families, each with a list of its modules and of the methods that use them: `label_space` (look rows up in tables),
`linkage` (trees), `graphs` (balanced cuts) and `spectral` (eigenvectors). What the families share lies beside them:

- `label_rows`: what methods ask of rows, for labels and soft memberships alike; the one place that knows both. Also
  random draws by weight, and `fill_empty`, by which all k-means and balanced cuts fill empty clusters.
- `parts`: rows that are divided into parts, which may lie in other processes.
- `contingency`: tables of two labellings, and NMI, ARI, accuracy and ANMI from them.
- `cluster_means`: mean rows of clusters, rows without a label, and how clearly rows belong to clusters.
- `members`: how the members agree with one another, and their order, which follows from their labels.
- `camps`: groups of members that disagree more than errors of their own explain.
- `weights`: weights of members and base clusters in every form that is needed; sums in whole numbers.
- `local_weights`: what two base clusters have in common, and weights by how sure the ensemble is of them (lwea, lwgp).
- `sizes`: the bytes that methods need beside the rows, stated from the size of an ensemble.
"""
