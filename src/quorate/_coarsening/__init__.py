"""The CA-tree and `coarsen`: an ensemble is reduced to fewer rows, each of which represents many, with a bounded
loss."""
