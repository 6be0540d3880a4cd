"""The number of clusters, from labels. Of measurements `_trust.number.explore` chooses it, by the same criteria.

- `choose_k`: the numbers that are compared, the labelling of each, whether members have anything in common; `choose_k`.
- `criteria`: what each criterion is worth for each number, how criteria are weighed, and the decision.
"""
