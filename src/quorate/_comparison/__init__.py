"""Results side by side: methods and numbers of clusters (compare), and one number after another (over_k)."""
