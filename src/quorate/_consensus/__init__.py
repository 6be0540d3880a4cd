"""From labels to one labelling.

- `consensus`: the doors `consensus` and `solve`, in memory and on a card.
- `camps`: groups of members that disagree, and the consensus of each.
- `confidence`: how probably an object would be placed in the same cluster on a fresh ensemble.
- `place`: new objects among the clusters of a labelling.
- `refine`: greedy moves from any labelling.
"""
