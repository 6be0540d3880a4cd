"""Methods that cut graphs and hypergraphs into balanced parts.

- `row_partition`: cuts, repair, meta-clusters. Used by cspa, ecpcs, hbgf, hgpa, mcla.
- `ensemble_graphs`: the graphs of rows, of rows and clusters, of clusters. Used by cspa, hbgf, mcla.
- `partition`: METIS and Mt-KaHyPar with checked input and integer weights. Used by hgpa, and by generation.
"""
