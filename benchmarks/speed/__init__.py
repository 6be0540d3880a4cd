"""Speed as ratios against named peers, in one run on the same input."""
