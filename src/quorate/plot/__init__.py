"""Figures of ensembles and consensus labellings; each function takes what it draws and returns matplotlib Axes.

- `matrices`, `trees`, `objects`, `comparisons`, `over_k`: the figures, by what they show.
- `_axes`: colours, ticks and legends that they share.
"""

from quorate.plot.comparisons import comparison
from quorate.plot.matrices import consensus_heatmap, densities, member_nmi, membership_heatmap, traits
from quorate.plot.objects import cluster_consensus, confidence_histogram, item_consensus, silhouette
from quorate.plot.over_k import consensus_cdf, delta_area, k_choice, tracking
from quorate.plot.trees import clustering_tree, dendrogram, node_curve, split_tree

__all__ = [
    "cluster_consensus",
    "clustering_tree",
    "comparison",
    "confidence_histogram",
    "consensus_cdf",
    "consensus_heatmap",
    "delta_area",
    "dendrogram",
    "densities",
    "item_consensus",
    "k_choice",
    "member_nmi",
    "membership_heatmap",
    "node_curve",
    "silhouette",
    "split_tree",
    "tracking",
    "traits",
]
