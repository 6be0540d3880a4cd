"""Methods that cut graphs and hypergraphs into balanced parts.

- `row_partition`: forced answers, the least of several cuts, repair, what was cut. Used by cspa, hbgf, hgpa, mcla.
- `ensemble_graphs`: the graphs of rows, of rows and clusters, of clusters. Used by cspa, hbgf, mcla.
- `meta_clusters`: groups of base clusters that compete for rows. Used by ecpcs, mcla.
- `graph_partition`: METIS with checked input. Used by no method directly, by `row_partition` and by generation.
- `hypergraph_partition`: Mt-KaHyPar with checked input. Used by hgpa, and by generation.
- `integer_weights`: weights as the integers that partitioners want. Used by no method directly, by both partitioners.
"""
