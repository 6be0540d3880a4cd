"""Work on Dask collections: chunks are compressed where they are, and only distinct rows and labels travel.

- `chunks`: collections as lists of chunks, and the compression of one chunk on a worker.
- `merge_tree`: distinct rows merged in a tree on the workers by `_data.blocks.join_blocks`, and the runs of that tree.
- `rows_on_workers`: distinct rows that stay on the workers, because they are too many for the machine of the call.
- `lazy_results`: results whose labels have the chunks of the input.
- `dask_features`: measurements in a Dask array.
"""
