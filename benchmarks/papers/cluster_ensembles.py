"""Strehl & Ghosh (2002), Cluster Ensembles: its example, all its tables and figures, and the ANMI over k."""

from __future__ import annotations

from benchmarks.papers.cluster_ensembles_claims import claims
from benchmarks.papers.cluster_ensembles_fdc import FDC
from benchmarks.papers.cluster_ensembles_figures import FIGURES, PICTURES, SEARCH, TABLE_2
from benchmarks.papers.cluster_ensembles_noise import GOLDEN, K_PEAK, NOISE
from benchmarks.papers.cluster_ensembles_odc import ODC, SPEED
from benchmarks.papers.cluster_ensembles_rcc import RCC
from benchmarks.papers.compare import RULE
from benchmarks.papers.paper import Paper

INTRODUCTION = f"""
A. Strehl and J. Ghosh, "Cluster ensembles: a knowledge reuse framework for combining multiple partitions", JMLR 3,
2002. NMI always means the geometric one. `supra` here means that of the paper: the one of the answers of CSPA, HGPA and
MCLA with the highest ANMI. {RULE} The tables show the numbers of repeats.
"""

NOTES = """
- We use METIS 5 and Mt-KaHyPar instead of METIS 4 and hMETIS. The paper counts a cut cluster once. If every cluster is
  cut, this does not distinguish partitions, and our HGPA is then poorer than that of the paper (FDC, RCC on YAHOO).
  Counting a cluster once for each part that it reaches (`objective="connectivity"`) is better; see the columns
  `hgpa-connectivity`. hMETIS was not tested.
- Members are cut from the graph of all similarities, as in the paper. `GraphPartitioning` of the library keeps nearest
  neighbours, which is linear in memory and better on PENDIG (rows "neighbours" below Table 3). The Euclidean similarity
  is not printed: exp(-d²) is used, 1 / (1 + d) shown as "inverse".
- Views: those of 8D5K are read off the axes of Fig. 7, those of 2D2K follow from the printed figures. Nothing else was
  fitted.
- 0.1 is a standard deviation, not a variance: see below Table 3.
"""

PAPER = Paper(
    name="cluster_ensembles",
    title="Cluster Ensembles (Strehl & Ghosh 2002)",
    introduction=INTRODUCTION,
    experiments=(GOLDEN, FIGURES, NOISE, TABLE_2, PICTURES, FDC, ODC, SPEED, RCC, K_PEAK, SEARCH),
    claims=claims,
    notes=NOTES,
)
