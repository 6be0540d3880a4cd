"""Building blocks of methods that cut graphs and hypergraphs."""
