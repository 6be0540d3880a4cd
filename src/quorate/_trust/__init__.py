"""What repeats a consensus in order to judge it.

- `agreement`: `evaluate`; members left out, permuted labels, two halves of the members.
- `separation`: valleys, links and borders of clusters in the measurements, on straight lines or along a curved cloud.
- `reference`: measurements without clusters, which are clustered by the same procedure, and the comparison with them.
- `compare`, `over_k`: several methods and numbers of clusters side by side.
- `resolutions`: clusterings at several resolutions, and which cluster splits into which.
- `split_tests`: the splits of a tree, tested from the top against a reference without them.
- `divide`: sub-clusters of one cluster, and labels such as "2.1".
- `subject`: all that a report shows about a labelling, each number computed once.
"""
