"""What repeats a consensus in order to judge it.

- `evaluate`: the scores of a labelling, and how they compare with chance and with measurements without clusters.
- `agreement`: members left out, permuted labels, two halves of the members.
- `reference`: measurements without clusters, clustered by the same procedure.
- `separation`: valleys, links and borders of clusters in the measurements, links between small cells.
- `number`: the number of clusters of measurements.
- `compare`, `over_k`: several methods and numbers of clusters side by side.
- `subject`: all that a report shows about a labelling, each number computed once.
"""
