"""scikit-learn estimators: thin wrappers around `consensus`, `generate` and `place`.

- `consensus_clustering`: from labels; `ensemble_clustering`: from measurements.
- `saved_model`: a fitted one in a file.
"""

from quorate.estimators.consensus_clustering import ConsensusClustering
from quorate.estimators.ensemble_clustering import EnsembleClustering

__all__ = ["ConsensusClustering", "EnsembleClustering"]
