"""The CA-tree and coarsen: fewer rows that stand for many, with a bounded loss."""
