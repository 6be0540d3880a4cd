"""Whether measurements have clusters, compared with a reference that has none, and how many clusters they have."""
