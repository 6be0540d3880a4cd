"""Label tables in files; the format follows from the suffix.

- `text`, `parquet`, `arrays`, `numpy_files`, `excel`, `zarr_store`: one module per format; `arrays` also has what is
  in memory.
- `source`, `opening`: tables as sources of blocks, the budget for memory, and folders, patterns and files as one.
- `feature_array`: measurements in blocks, read by slices.
- `choosing`: the columns that are read, and several files joined to one ensemble.
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
