"""Scores of labellings, and the numbers that figures and reports show."""
