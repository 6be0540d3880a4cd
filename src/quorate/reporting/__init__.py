"""The report: one HTML page about the quality of a consensus, which opens offline and needs nothing else.

- `writing`: `report`, its options and the file; `page`: the page from its parts.
- `points`: what is said first; `evidence`: the numbers behind it; `figures`: the data of its charts.
- `first_page`: the clusters in everyday words, with a map, for people who do not know clustering.
- `slider`: the same for other numbers of clusters; `trees`: how clusters come apart.
"""

from quorate.reporting.writing import report

__all__ = ["report"]
