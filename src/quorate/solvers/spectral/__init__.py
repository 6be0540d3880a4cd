"""Building blocks of methods that embed rows by eigenvectors and cluster the points."""
