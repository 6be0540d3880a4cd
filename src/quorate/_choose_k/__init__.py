"""The number of clusters, from labels and from measurements.

- `choose_k`: the numbers that are compared, the labelling of each, whether members have anything in common; `choose_k`.
- `explore`: of measurements, by the same criteria and by links between nearest neighbours.
- `criteria`: what each criterion is worth for each number, how criteria are weighed, and the decision.
"""
