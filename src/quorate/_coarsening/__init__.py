"""The CA-tree and `coarsen`, which reduces an ensemble to fewer rows with a bounded loss."""
