"""From labels to one labelling.

- `consensus`: the doors `consensus` and `solve`, in memory and on a card.
- `camps`: groups of members that disagree, and the consensus of each.
- `confidence`: how probably an object would be placed in the same cluster on a fresh ensemble.
- `drawn_labels`: labels of another ensemble, drawn from those of this one, and how its members were made.
- `judged`: members, camps and answers judged by measurements.
- `limits`: clusters that are too small or too many; `warm_start`: labels to begin from.
- `place`: new objects among the clusters of a labelling.
- `update`: clusters that keep their ids over time.
- `refine`: greedy moves from any labelling.
"""
