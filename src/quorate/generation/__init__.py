"""From features to many diverse clusterings."""
