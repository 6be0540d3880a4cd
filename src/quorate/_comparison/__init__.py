"""Comparing results: several methods and numbers of clusters (compare), or several numbers of clusters (over_k)."""
