"""The report: one HTML page about the quality of a consensus, which opens offline and needs nothing else.

- `writing`: `report`, its options and the file; `page`: the page from its parts.
- `first_page`: the page for people who do not know clustering; `points`: what is said first after it.
- `evidence`: the numbers behind it; `figures`: the data of its charts.
- `slider`: the same for other numbers of clusters.
"""

from quorate.reporting.writing import report

__all__ = ["report"]
