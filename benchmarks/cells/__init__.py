"""Single cells: `cluster_cells` beside k-means and Louvain, and the table of docs/how-to/single-cells.md."""
