"""Scores, and the numbers that figures and reports draw."""
