"""Label tables in files; the format follows from the suffix.

- `text`, `parquet`, `arrays`, `numpy_files`, `excel`, `zarr_store`: one module per format; `arrays` also has what is
  in memory, `parquet_footer` what the end of a Parquet file says of its groups of rows.
- `source`: sources of blocks and the budget for memory; `opening`: the columns that are read, several files joined to
  one ensemble, and folders, patterns and files as one source.
- `feature_array`: measurements in blocks, read by slices.
- `load`: `load_labels`, one labelling, and measurements.
- `save`: `save_labels` and `save_ensemble`.
- `consensus_file`: a whole result in one file.
- `paths`, `aside`: what may be read and written where, and how it is written.
"""

from quorate._io.aside import write_aside
from quorate._io.load import load_labels
from quorate._io.paths import refuse_output, refuse_place
from quorate._io.save import save_ensemble, save_labels

__all__ = ["load_labels", "refuse_output", "refuse_place", "save_ensemble", "save_labels", "write_aside"]
