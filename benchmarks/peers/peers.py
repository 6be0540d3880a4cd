"""How each peer is called: from labels, or from features where it takes nothing else. One call, one labelling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.inputs import N_CLUSTERS, N_MEMBERS, SEED, Objects

Labels = NDArray[Any]


class Peer(NamedTuple):
    """package : the distribution whose version is told; takes : "labels" or "features"."""

    package: str
    takes: str
    call: Callable[[Objects], Labels]


def _quorate(method: str) -> Callable[[Objects], Labels]:
    def call(objects: Objects) -> Labels:
        import quorate

        return quorate.consensus(objects.labels, N_CLUSTERS, method=method, random_state=SEED).labels

    return call


def quorate_from_features(objects: Objects) -> Labels:
    import quorate

    model = quorate.EnsembleClustering(N_CLUSTERS, n_members=N_MEMBERS, random_state=SEED, n_jobs=1)
    return np.asarray(model.fit_predict(objects.X))


def one_hot(labels: Labels) -> NDArray[np.float64]:
    """Dense rows, as recipes write them."""
    return np.concatenate([np.eye(column.max() + 1)[column] for column in labels.T], axis=1)


def scipy_average_link(objects: Objects) -> Labels:
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    rows = one_hot(objects.labels).astype(np.float32)
    distance = 1 - rows @ rows.T / objects.labels.shape[1]
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform(distance, checks=False), "average")
    return np.asarray(fcluster(tree, N_CLUSTERS, "maxclust"))


def sklearn_kmeans(objects: Objects) -> Labels:
    from sklearn.cluster import KMeans

    return np.asarray(KMeans(N_CLUSTERS, n_init=10, random_state=SEED).fit(one_hot(objects.labels)).labels_)


def sklearn_kmeans_unique(objects: Objects) -> Labels:
    from sklearn.cluster import KMeans

    rows, inverse, counts = np.unique(objects.labels, axis=0, return_inverse=True, return_counts=True)
    model = KMeans(N_CLUSTERS, n_init=10, random_state=SEED).fit(one_hot(rows), sample_weight=counts)
    return np.asarray(model.labels_[inverse.ravel()])


def _soft(name: str) -> Callable[[Objects], Labels]:
    def call(objects: Objects) -> Labels:
        import soft_clustering

        members = [np.eye(column.max() + 1)[column] for column in objects.labels.T]
        return np.asarray(getattr(soft_clustering, name)(n_clusters=N_CLUSTERS).fit_predict(members))

    return call


def multicons(objects: Objects) -> Labels:
    from multicons import MultiCons

    return np.asarray(MultiCons().fit(list(objects.labels.T.astype(int))).labels_)


def _openensembles(objects: Objects) -> Any:
    import openensembles
    import pandas

    data = openensembles.data(pandas.DataFrame(objects.X), list(range(objects.X.shape[1])))
    found = openensembles.cluster(data)
    for member, column in enumerate(objects.labels.T):
        name = f"member {member}"
        found.labels[name], found.data_source[name], found.params[name] = column.astype(int), "parent", {}
        found.clusterNumbers[name] = np.unique(column)
    return found


def openensembles_linkage(objects: Objects) -> Labels:
    found = _openensembles(objects).finish_co_occ_linkage(threshold=0.5, linkage="average")
    return np.asarray(found.labels["co_occ_linkage"])


def openensembles_majority(objects: Objects) -> Labels:
    return np.asarray(_openensembles(objects).finish_majority_vote(threshold=0.5).labels["majority_vote"])


def openensembles_mixture(objects: Objects) -> Labels:
    return np.asarray(_openensembles(objects).mixture_model(K=N_CLUSTERS, iterations=10).labels["mixture_model"])


def consensusclustering(objects: Objects) -> Labels:
    """It gives the consensus matrix; the labelling is average link on it, as in the R package it follows."""
    from consensusclustering import ConsensusClustering
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform
    from sklearn.cluster import KMeans

    base = KMeans(n_init=1, random_state=SEED)
    model = ConsensusClustering(base, N_CLUSTERS, N_CLUSTERS, N_MEMBERS, resample_frac=0.8, rng=SEED)
    model.fit(objects.X)
    distance = 1 - model.consensus_k(N_CLUSTERS)
    np.fill_diagonal(distance, 0)
    return np.asarray(fcluster(linkage(squareform(distance, checks=False), "average"), N_CLUSTERS, "maxclust"))


def pyckmeans(objects: Objects) -> Labels:
    from pyckmeans import CKmeans

    model = CKmeans(N_CLUSTERS, n_rep=N_MEMBERS, p_feat=1.0, metrics=())
    model.fit(objects.X)
    return np.asarray(model.predict(objects.X).cl)


def inmoose(objects: Objects) -> Labels:
    from inmoose.consensus_clustering.consensus_clustering import consensusClustering
    from sklearn.cluster import KMeans

    model = consensusClustering(
        KMeans, mink=N_CLUSTERS, maxk=N_CLUSTERS, nb_resampling_iteration=N_MEMBERS, resample_proportion=0.8
    )
    model.compute_consensus_clustering(objects.X, SEED)
    return np.asarray(model.predict(N_CLUSTERS))


def sc3s(objects: Objects) -> Labels:
    import anndata
    from sc3s._consensus import consensus

    table = anndata.AnnData(objects.X)
    table.obsm["X_pca"] = objects.X
    consensus(table, n_clusters=[N_CLUSTERS], n_runs=N_MEMBERS, random_state=SEED)
    return np.asarray(table.obs[f"sc3s_{N_CLUSTERS}"].astype(int))


PEERS: dict[str, Peer] = {
    "quorate transfer": Peer("quorate", "labels", _quorate("transfer")),
    "quorate kmeans": Peer("quorate", "labels", _quorate("kmeans")),
    "quorate eac": Peer("quorate", "labels", _quorate("eac")),
    "quorate mcla": Peer("quorate", "labels", _quorate("mcla")),
    "quorate mixture": Peer("quorate", "labels", _quorate("mixture")),
    "scipy average link, dense matrix": Peer("scipy", "labels", scipy_average_link),
    "scikit-learn KMeans, one-hot rows": Peer("scikit-learn", "labels", sklearn_kmeans),
    "scikit-learn KMeans, np.unique rows": Peer("scikit-learn", "labels", sklearn_kmeans_unique),
    "soft-clustering SMCLA": Peer("soft-clustering", "labels", _soft("SMCLA")),
    "soft-clustering SHBGF": Peer("soft-clustering", "labels", _soft("SHBGF")),
    "soft-clustering SCSPA": Peer("soft-clustering", "labels", _soft("SCSPA")),
    "multicons": Peer("multicons", "labels", multicons),
    "openensembles co-occurrence link": Peer("OpenEnsembles", "labels", openensembles_linkage),
    "openensembles majority vote": Peer("OpenEnsembles", "labels", openensembles_majority),
    "openensembles mixture model": Peer("OpenEnsembles", "labels", openensembles_mixture),
    "quorate EnsembleClustering": Peer("quorate", "features", quorate_from_features),
    "consensusclustering": Peer("consensusclustering", "features", consensusclustering),
    "pyckmeans": Peer("pyckmeans", "features", pyckmeans),
    "inmoose": Peer("inmoose", "features", inmoose),
    "sc3s": Peer("sc3s", "features", sc3s),
}
