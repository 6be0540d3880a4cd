"""The report: one HTML page that tells what a consensus is worth, opens offline and needs nothing else."""

from quorate.reporting.writing import report

__all__ = ["report"]
