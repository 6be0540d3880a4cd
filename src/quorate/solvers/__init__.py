"""Count-weighted building blocks shared by methods."""
