"""Label tables in files: load_labels, save_labels, save_ensemble; the format follows from the suffix."""

from quorate._io.aside import write_aside
from quorate._io.load import load_labels
from quorate._io.paths import refuse_output, refuse_place
from quorate._io.save import save_ensemble, save_labels

__all__ = ["load_labels", "refuse_output", "refuse_place", "save_ensemble", "save_labels", "write_aside"]
