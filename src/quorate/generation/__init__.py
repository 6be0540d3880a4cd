"""From features to many diverse clusterings: `generate`, and the classes and names that its options accept.

- `generating`: `generate`; `plans` draws what each member does, `runner` and `members` do it, `checkpoint` stores it.
- `features`: the measurements, checked once and read in blocks; `sampling`: the part of them that a member sees.
- `bases`: what makes members: `kmeans`, `spectral` (with `landmarks`), `gaussian`, `clusterers`, and the user's own.
- `k_rules`: the number of clusters of each member. `trial`: which base and method suit the data, by the
  marks of `judge`.
- `prototypes`: few objects that stand for many, the rivals of the CA-tree.
- `block_members`, `on_card`: members of measurements in blocks, and on a card.
"""

from quorate.generation.bases import BASES
from quorate.generation.gaussian import Gaussian
from quorate.generation.generating import generate
from quorate.generation.kmeans import KMeans
from quorate.generation.sampling import Parts, Projection, Share, Views
from quorate.generation.spectral import Spectral

__all__ = ["BASES", "Gaussian", "KMeans", "Parts", "Projection", "Share", "Spectral", "Views", "generate"]
