"""scikit-learn estimators: thin wrappers around `consensus`, `generate` and `place`."""

from quorate.estimators.consensus_clustering import ConsensusClustering
from quorate.estimators.ensemble_clustering import EnsembleClustering

__all__ = ["ConsensusClustering", "EnsembleClustering"]
