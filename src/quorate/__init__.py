"""Consensus clustering: many labellings of the same objects in, one you can trust out."""

from quorate._ensemble import as_ensemble, compress, merge
from quorate._types import Consensus, Ensemble, Method, Scores

__all__ = ["Consensus", "Ensemble", "Method", "Scores", "as_ensemble", "compress", "merge"]
