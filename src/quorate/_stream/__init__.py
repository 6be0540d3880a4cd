"""Tables that are larger than memory: blocks are read, coded and compressed one by one, and labels go out in blocks.

- `block_consensus`, `block_scores`, `block_places`: `consensus`, `compress`, `evaluate` and `place`.
- `measurements`: `generate` and `cluster`.
- `running`: the pass over a source, the job, and labels in the same blocks.
- `store`: rows and ids of objects, and unfinished work, so that the same call continues.
- `labels_out`: labels written in blocks.
"""
