"""Scores of labellings, and the numbers that figures and reports show.

- `scores`: a labelling compared with another one, or with the members of its ensemble.
- `member_table`: how well each member agrees with a labelling, and the labels that its clusters consist of.
- `explanation`, `cluster_rules`: the columns of a table in which clusters differ, and a short rule for each.
- `co_association`: the sparse matrix of how often two objects are put together.
- `consensus_index`: the same over members that label both objects; ambiguity, item consensus, silhouettes.
- `hierarchy`: names by the deepest ancestor on which labels of a hierarchy agree.
- `binning`: objects in the order of a picture, in as many bins as it has room for; clusters matched by colour.
"""
