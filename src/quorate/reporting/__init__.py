"""The report: one HTML page about the quality of a consensus, which opens offline and needs nothing else."""

from quorate.reporting.writing import report

__all__ = ["report"]
