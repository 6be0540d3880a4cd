"""T. Wang's CA-tree (2011), printed beside ours."""

from __future__ import annotations

from benchmarks.papers import ca_tree_accuracy, ca_tree_causes, ca_tree_image, ca_tree_nodes, ca_tree_prototypes
from benchmarks.papers import ca_tree_times
from benchmarks.papers.paper import Paper

PAPER = Paper(
    "ca_tree",
    "CA-tree: Wang 2011",
    "x",
    (
        *ca_tree_nodes.EXPERIMENTS,
        ca_tree_accuracy.EXPERIMENT,
        ca_tree_times.EXPERIMENT,
        *ca_tree_causes.EXPERIMENTS,
        ca_tree_image.EXPERIMENT,
        ca_tree_prototypes.EXPERIMENT,
    ),
    lambda records: [],
)
