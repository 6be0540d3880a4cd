"""The CA-tree and `coarsen`, which reduces an ensemble to fewer rows with a bounded loss.

- `tree`: the CA-tree, built in two passes.
- `coarsen`: similar rows merged by a cut through the tree, for one table or block by block.
"""
