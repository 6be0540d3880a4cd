"""From features to many diverse clusterings: `generate`, and the classes and names that its options accept."""

from quorate.generation.bases import BASES
from quorate.generation.columns import Projection, Views
from quorate.generation.generating import generate
from quorate.generation.kmeans import KMeans
from quorate.generation.row_samples import Parts, Share
from quorate.generation.spectral import Spectral

__all__ = ["BASES", "KMeans", "Parts", "Projection", "Share", "Spectral", "Views", "generate"]
