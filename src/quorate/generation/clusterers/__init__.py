"""Base clusterers beside k-means and the spectral one, as scikit-learn estimators.

- `portfolio`: the ten clusterers of the robust portfolio.
- `bagging`: bagged and boosted k-means, and the base classes of all our clusterers.
- `similarity`: objects prepared for one similarity, and k-means under it.
- `knn_graph`: graphs of nearest neighbours under a similarity.
"""
