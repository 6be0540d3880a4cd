"""`significant_splits`: which divisions of the tree of a consensus are real, from the top, at a level of error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._coarsening.coarsen import coarsen_by_option
from quorate._consensus.place import cluster_profiles, shared_with_clusters
from quorate._data.ensemble import as_ensemble
from quorate._data.ids import aligned_result, order_of
from quorate._data.outside import inside_rows, part_inside
from quorate._data.rows import as_objects, at_places, compress, permuted, select_rows
from quorate._evaluation.co_association import NO_TREE, grown_splits
from quorate._progress import steps
from quorate._solve.procedure import procedure_of
from quorate._solve.run_method import resolve, run_method
from quorate._summaries import need_library
from quorate._trust.reference import (
    FLAT,
    FLAT_ALONG,
    LEAST_SPREAD,
    compared_values,
    drawn_reference,
    principal_sample,
)
from quorate._trust.separation import has_few_directions, separation, widths_along
from quorate._types import Consensus, Ensemble, FloatArray, IntArray, Solving
from quorate.generation.features import Features, as_features
from quorate.generation.generating import generate_with_models
from quorate.generation.plans import Request
from quorate.generation.runner import Options
from quorate.ops.coding import canonical
from quorate.solvers.label_rows import tally_and_sizes

if TYPE_CHECKING:
    import pandas

TREE = "eac"
"""The method whose tree is tested if no result with a tree is given."""
LEAST_SHARE = 0.02
"""A part that is smaller than this share of a node is set aside, and not tested: trees cut off single objects first."""
MOST_OBJECTS = 1_000
"""Objects of a node on which its split is tested, at most."""
FEWEST, MOST = 19, 99
"""Draws of the reference before a clear answer may end a test, and after which it ends in any case."""
MOST_OF_SMALL = 499
"""Draws after which a test of a small node ends, whose level fewer draws could not reach."""
ENOUGH = 5
"""So many draws that are divided as well end a test: the split is not significant."""
REFERENCE_MEMBERS = 20
"""The number of members from which each draw of measurements without clusters is divided, at most."""
GUMBEL = float(np.sqrt(6.0) / np.pi), 0.5772156649015329
"""Scale and shift of a Gumbel distribution of standard deviation 1 and mean 0."""


class SplitTest(NamedTuple):
    """One split of the tree and its test.

    `node` is 0 for all objects, and the parts of the split at place t of the table are the nodes 2 t + 1 and 2 t + 2.
    `strength` says how many standard deviations better the parts are divided than those of the reference, and `p_value`
    how often the reference is divided as well. `adjusted` is the p-value times the number of all objects for each
    object of the node, and no smaller than that of the split above: the split is significant if it is at most alpha.
    """

    node: int
    size: int
    left: int
    right: int
    n_set_aside: int
    strength: float
    p_value: float
    adjusted: float
    is_significant: bool
    n_draws: int


@dataclass(frozen=True, eq=False, repr=False)
class SplitTree:
    """What `significant_splits` returns; prints as a table, with the number of clusters that follows.

    Parameters
    ----------
    splits : tuple of SplitTest
        The splits that were tested, from the top.
    labels : int32 array
        The cluster of each object: the parts that no significant split divides, by first appearance; -1 for objects
        outside (noise, and objects without any label).
    alpha : float
        The level of error.
    reference : str
        What splits were compared with: "measurements without clusters" or "permuted labels".
    object_ids : array or None
        Names of the objects, if the data had them.
    """

    splits: tuple[SplitTest, ...]
    labels: NDArray[np.int32]
    alpha: float
    reference: str
    object_ids: NDArray[Any] | None = None

    @property
    def n_clusters(self) -> int:
        """The number of clusters that follows: one more than there are significant splits."""
        return 1 + sum(split.is_significant for split in self.splits)

    def __repr__(self) -> str:
        lines = [f"{'node':>4}  {'size':>9}  {'into':>19}  {'strength':>8}  {'p':>9}  {'adjusted':>9}"]
        for split in self.splits:
            into = f"{split.left:,} + {split.right:,}"
            mark = "  significant" if split.is_significant else ""
            values = f"{split.strength:>8.1f}  {split.p_value:>9.2g}  {split.adjusted:>9.2g}"
            lines.append(f"{split.node:>4}  {split.size:>9,}  {into:>19}  {values}{mark}")
        clusters = _check.counted(self.n_clusters, "cluster")
        return "\n".join(
            [*lines, f"{clusters} at a family-wise error of {self.alpha:g}, compared with {self.reference}."]
        )

    def as_dict(self) -> dict[str, Any]:
        """Return splits and the number of clusters as plain types."""
        sizes = np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters).tolist()
        facts = {"n_clusters": self.n_clusters, "sizes": sizes, "alpha": self.alpha, "reference": self.reference}
        return {**facts, "splits": [split._asdict() for split in self.splits]}

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with one row per split that was tested."""
        frame: pandas.DataFrame = need_library("pandas").DataFrame(list(self.splits), columns=list(SplitTest._fields))
        return frame


class SplitNode(NamedTuple):
    """A node of the tree as it is drawn: leaves stand side by side at the places 0, 1, ...

    `above` is the place in the list of the node it was split from, None for all objects; `split` its own test, if any.
    """

    place: float
    level: int
    size: int
    above: int | None
    split: SplitTest | None


def nodes_of(found: SplitTree) -> list[SplitNode]:
    """Return the nodes of a tree of significant splits, each before those below it."""
    tested = {split.node: (2 * place + 1, split) for place, split in enumerate(found.splits)}
    nodes: list[SplitNode] = []
    n_leaves = 0

    def enter(number: int, size: int, level: int, above: int | None) -> float:
        nonlocal n_leaves
        own = len(nodes)
        first, split = tested.get(number, (0, None))
        nodes.append(SplitNode(0.0, level, size, above, split))
        if split is None or not split.is_significant:
            place = float(n_leaves)
            n_leaves += 1
        else:
            parts = ((first, split.left), (first + 1, split.right))
            place = sum(enter(child, objects, level + 1, own) for child, objects in parts) / 2
        nodes[own] = nodes[own]._replace(place=place)
        return place

    enter(0, len(found.labels), 0, None)
    return nodes


def significant_splits(
    members: Any,
    features: Any = None,
    *,
    result: Consensus | None = None,
    alpha: float = 0.05,
    min_size: int = 10,
    random_state: int = 0,
    progress: bool = False,
) -> SplitTree:
    """Test the splits of the tree of a consensus from the top, and say which of them are real.

    A split is compared with that of a reference without it, which is made from the objects below it and divided by the
    same procedure, so that the search for the split is paid for. Below a split that is not significant nothing is
    tested.

    Parameters
    ----------
    members : Ensemble, or anything `as_ensemble` takes
        The labels of the objects, one column per member.
    features : array or data frame of numbers, optional
        The measurements that the members were made from. The reference then has their covariance and no clusters.
        Without them members are compared with permuted labels: whether they agree within a node. Members that were made
        from the same measurements agree in any case, so that their splits need the measurements.
    result : Consensus, optional
        A result of these members with a tree (`eac`, `lwea`, `bisecting`); by default `eac` makes it.
    alpha : float
        The family-wise error: how probable it may be that any split is called significant that is not real.
    min_size : int
        The least number of objects in each part of a split. Smaller parts, and those of less than 2% of a node, are set
        aside, and join the most similar cluster at the end.
    random_state : int
        The seed.
    progress : bool
        Whether to show the number of splits tested on standard error.

    Returns
    -------
    SplitTree
        A table of the splits that were tested with their p-values, the number of clusters that follows and its labels.
        `quorate.plot.split_tree` draws it.

    See Also
    --------
    splits : All splits of a tree, without a test.
    choose_k : Chooses the number of clusters by several criteria.

    Notes
    -----
    With measurements the reference is drawn uniformly from an ellipsoid of the same covariance, and is divided by
    k-means members of as many clusters as the members have within the node. What is compared is the best of three: the
    valley between the parts, the links of nearest neighbours across, and how sparse the border is. Where objects extend
    in at most six directions, the valley is looked for along the cloud, which may be curved. Of permuted labels
    the gain of the mean co-association within the parts is compared. At most 1,000 objects of a node are looked at. A
    test ends after 19 to 99 draws, in small nodes 499; p-values that are smaller than draws can tell are those of a
    Gumbel distribution with the mean and standard deviation of the draws.

    A node of a share s of the objects is tested at the level alpha s [1]_. The nodes at which the true tree ends hold
    each object once, so that their levels add up to alpha at most. docs/how-to/which-splits-are-real.md reports how
    often sets without clusters are divided, and how often planted ones are found.

    References
    ----------
    .. [1] N. Meinshausen, "Hierarchical testing of variable importance", Biometrika 95, 2008,
       doi:10.1093/biomet/asn007.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([0, 1, 2], 40)
    >>> members = [np.where(rng.random(120) < 0.8, truth, rng.integers(3, size=120)) for _ in range(8)]
    >>> found = significant_splits(members)
    >>> found.n_clusters, [split.is_significant for split in found.splits]
    (3, [True, True])
    """
    ensemble = as_ensemble(members)
    if ensemble.n_rows != ensemble.n_objects:
        raise ValueError("members must have one row per object; this ensemble is compressed.")
    alpha = _check.fraction(alpha, "alpha", advice="it is the probability of a false split.")
    least = _check.integer(min_size, "min_size", low=2)
    seed = _check.integer(random_state, "random_state", low=0)
    how = _procedure(result)
    measured = None if features is None else measurements_beside(features, ensemble)
    n_objects, ids = ensemble.n_objects, ensemble.object_ids
    inside = inside_rows(ensemble) if result is None else None
    if inside is not None:
        # objects outside are in no part of the tree
        ensemble = part_inside(ensemble, inside)
        measured = None if measured is None else measured.taken(inside)
    whole = _tree_of(ensemble, how) if result is None else aligned_result(result, ensemble.object_ids, "result")
    tree = _branches(whole)
    if len(tree.objects) != ensemble.n_objects:
        raise ValueError(
            f"result must have the {ensemble.n_objects:,} objects of the members, got one of {len(tree.objects):,}."
        )
    with steps(is_shown=progress)("testing splits"):
        found = _walk(tree, _tester(ensemble, measured, how, least, seed), alpha, least)
    labels = _completed(ensemble, found[1])
    labels = labels if inside is None else at_places(labels, inside, n_objects, -1)
    reference = "permuted labels" if measured is None else "measurements without clusters"
    return SplitTree(found[0], labels, alpha, reference, ids)


def measurements_beside(features: Any, ensemble: Ensemble) -> Features:
    """Return the measurements as an array of floats, one row for each object."""
    block = as_features(features)
    if block.is_sparse:
        raise ValueError("features must be a dense array; make it one, or leave features out to compare labels alone.")
    if block.n_objects != ensemble.n_objects:
        raise ValueError(
            f"features must have one row for each object of the members, {ensemble.n_rows:,}, got {block.n_objects:,}."
        )
    order = None if block.ids is None else order_of(ensemble.object_ids, block.ids, "features")
    return block if order is None else as_features(block.data[order])


def _tree_of(ensemble: Ensemble, how: Solving) -> Consensus:
    """Return the tree of the members; of very many distinct rows similar ones are merged first."""
    rows, inverse = compress(ensemble)
    if rows.n_rows > MOST_ROWS:
        rows, joined, _ = coarsen_by_option(rows, {"max_rows": MOST_ROWS}, n_clusters=2, max_rows=MOST_ROWS)
        inverse = joined[inverse]
    k = min(2, rows.n_rows)
    return replace(run_method(rows, k, resolve(rows, k, how)[0]), rows=inverse)


MOST_ROWS = 50_000
"""Distinct rows of which a tree is made; of more, similar ones are merged first."""


class Branches(NamedTuple):
    """A tree over objects: node i < n_leaves is a leaf, node n_leaves + t the merge t.

    `objects` is the order of the objects in which those of each node are one after another, from `start` to `stop`.
    """

    children: IntArray
    objects: NDArray[np.intp]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]

    @property
    def root(self) -> int:
        return len(self.start) - 1

    def of(self, node: int) -> NDArray[np.intp]:
        """The objects of a node."""
        return self.objects[self.start[node] : self.stop[node]]

    def size(self, node: int) -> int:
        return int(self.stop[node] - self.start[node])

    def split(self, node: int, least: int) -> tuple[int, int] | None:
        """The first split below a node whose parts both have `least` objects, and their share; smaller parts are
        passed by."""
        n_leaves = len(self.children) + 1
        while node >= n_leaves:
            one, other = self.children[node - n_leaves].tolist()
            if self.size(one) < self.size(other):
                one, other = other, one
            if self.size(other) >= max(least, LEAST_SHARE * self.size(node)):
                return one, other
            node = one
        return None


def _procedure(result: Consensus | None) -> Solving:
    """How the tree was made: draws of the reference are divided by the same method with the same options."""
    if result is None:
        return Solving(TREE, random_state=0)
    if not isinstance(result, Consensus) or (result.tree is None and "leaves" not in result.info):
        raise ValueError(f"{NO_TREE}.")
    made = procedure_of(result, 2)
    return Solving(made.method, {name: made.options[name] for name in made.options if name != "grow"}, random_state=0)


def _branches(result: Consensus) -> Branches:
    """Return the tree of a result over its objects."""
    if result.tree is not None:
        children = result.tree[:, :2].astype(np.int64)
        leaf_of_row = np.arange(len(children) + 1)
    else:
        children, leaf_of_row = _as_merges(result)
    rows = np.arange(len(result.labels)) if result.rows is None else result.rows
    leaf = leaf_of_row[rows]
    n_leaves = len(children) + 1
    sizes = np.zeros(2 * n_leaves - 1, dtype=np.int64)
    sizes[:n_leaves] = np.bincount(leaf, minlength=n_leaves)
    for place, (one, other) in enumerate(children.tolist()):
        sizes[n_leaves + place] = sizes[one] + sizes[other]
    start = np.zeros_like(sizes)
    for place in range(len(children) - 1, -1, -1):
        one, other = children[place].tolist()
        start[one] = start[n_leaves + place]
        start[other] = start[one] + sizes[one]
    return Branches(children, np.argsort(start[leaf], kind="stable"), start, start + sizes)


def _as_merges(result: Consensus) -> tuple[IntArray, IntArray]:
    """The splits of `bisecting` as merges from the last one up, and the leaf of each row."""
    made = grown_splits(result)
    ends, leaf_of_row = np.unique(np.asarray(result.info["leaves"]), return_inverse=True)
    name = {int(node): place for place, node in enumerate(ends)}
    children = []
    for place, split in enumerate(reversed(made)):
        children.append([name[int(split[1])], name[int(split[2])]])
        name[int(split[0])] = len(ends) + place
    return np.array(children, dtype=np.int64).reshape(-1, 2), leaf_of_row.reshape(-1)


class JudgedSplit(NamedTuple):
    """What a test found: how strong the split is, its p-value, and after how many draws."""

    strength: float
    p_value: float
    n_draws: int


Divide = Callable[[Ensemble, float], NDArray[np.int32] | None]
"""An ensemble and the share of the objects that were drawn in; the parts of its first split out, -1 for the others."""
Tester = Callable[[NDArray[np.intp], NDArray[np.intp], float, int], JudgedSplit | None]
"""The objects of both parts, the level and the number of the test in; None if nothing can be compared."""


def _walk(tree: Branches, test: Tester, alpha: float, least: int) -> tuple[tuple[SplitTest, ...], NDArray[np.int32]]:
    """Test splits from the top; return them, and the cluster of each object, -1 for those that were set aside."""
    n_objects = len(tree.objects)
    labels = np.zeros(n_objects, dtype=np.int32)
    tested: list[SplitTest] = []
    # the node of the tree, its number in the table, and the adjusted p-value above
    pending = [(tree.root, 0, 0.0)]
    while pending:
        node, number, above = pending.pop(0)
        parts = tree.split(node, least)
        if parts is None:
            continue
        one, other = tree.of(parts[0]), tree.of(parts[1])
        size = tree.size(node)
        found = test(one, other, alpha * size / n_objects, len(tested))
        if found is None:
            continue
        adjusted = min(1.0, max(above, found.p_value * n_objects / size))
        aside = size - len(one) - len(other)
        significant = adjusted <= alpha
        tested.append(
            SplitTest(
                number,
                size,
                len(one),
                len(other),
                aside,
                found.strength,
                found.p_value,
                adjusted,
                significant,
                found.n_draws,
            )
        )
        if significant:
            first = 2 * len(tested) - 1
            labels[tree.of(node)] = -1
            labels[one], labels[other] = first, first + 1
            pending += [(parts[0], first, adjusted), (parts[1], first + 1, adjusted)]
    return tuple(tested), labels


def _completed(ensemble: Ensemble, labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number the clusters by first appearance, and give objects that were set aside the most similar one."""
    known = np.flatnonzero(labels >= 0)
    names, codes = np.unique(labels[known], return_inverse=True)
    whole = np.full(len(labels), -1, dtype=np.int32)
    whole[known] = codes.reshape(-1)
    left = np.flatnonzero(whole < 0)
    if len(left):
        profiles = cluster_profiles(ensemble, whole)
        whole[left] = shared_with_clusters(profiles, ensemble.offsets, ensemble.labels[left]).argmax(axis=1)
    labels_of_all: NDArray[np.int32] = canonical(whole, len(names))
    return labels_of_all


def _tester(ensemble: Ensemble, features: Features | None, how: Solving, least: int, seed: int) -> Tester:
    def divide(drawn: Ensemble, share: float) -> NDArray[np.int32] | None:
        return _divided(drawn, how, max(2, int(least * share)))

    if features is None:
        return partial(_test_of_labels, ensemble, divide, seed)
    return partial(_test_of_measurements, ensemble, features, divide, seed)


def _sample(
    one: NDArray[np.intp], other: NDArray[np.intp], rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Draw objects of both parts at random, and return them with their part."""
    objects = np.concatenate([one, other])
    parts = np.repeat(np.array([0, 1], dtype=np.int32), [len(one), len(other)])
    if len(objects) > MOST_OBJECTS:
        drawn = rng.choice(len(objects), MOST_OBJECTS, replace=False, shuffle=False)
        objects, parts = objects[drawn], parts[drawn]
    order = np.argsort(objects)
    return objects[order], parts[order]


def _test_of_labels(
    whole: Ensemble,
    divide: Divide,
    seed: int,
    one: NDArray[np.intp],
    other: NDArray[np.intp],
    level: float,
    number: int,
) -> JudgedSplit | None:
    """Compare the gain of a split with that of splits of permuted labels of the same objects."""
    objects, parts = _sample(one, other, np.random.default_rng((seed, number, 0)))
    part = as_objects(select_rows(whole, objects, np.ones(len(objects), dtype=np.int64)))
    share = len(objects) / (len(one) + len(other))

    def draw(place: int) -> FloatArray:
        mixed = permuted(part, np.random.default_rng((seed, number, place)))
        split = divide(mixed, share)
        return np.array([np.nan if split is None else _gain(mixed, split)])

    if part.n_members < 2 or part.n_clusters.max() < 2:
        return None
    return _judged(np.array([_gain(part, parts)]), draw, np.zeros(1), np.full(1, 1e-9), level)


def _gain(ensemble: Ensemble, labels: NDArray[np.int32]) -> float:
    """By how much the mean co-association within the parts exceeds that of all objects, weighted by their sizes.

    Objects with the label -1 are left out.
    """
    table, sizes = tally_and_sizes(ensemble, labels, 2)
    shares = np.repeat(ensemble.weights / ensemble.weights.sum(), ensemble.n_clusters)
    within = (shares[:, None] * table.astype(np.float64) ** 2).sum(axis=0) / sizes
    return float(
        (within.sum() - (shares * table.sum(axis=1).astype(np.float64) ** 2).sum() / sizes.sum()) / sizes.sum()
    )


def _divided(ensemble: Ensemble, how: Solving, least: int) -> NDArray[np.int32] | None:
    """The parts of the first split of objects that is large enough, by the tree of their members; -1 for the others."""
    if (ensemble.labels == ensemble.labels[0]).all():
        return None
    result = _tree_of(ensemble, how)
    tree = _branches(result)
    parts = tree.split(tree.root, least)
    if parts is None:
        return None
    labels = np.full(len(tree.objects), -1, dtype=np.int32)
    labels[tree.of(parts[0])], labels[tree.of(parts[1])] = 0, 1
    return labels


def _test_of_measurements(
    whole: Ensemble,
    features: Features,
    divide: Divide,
    seed: int,
    one: NDArray[np.intp],
    other: NDArray[np.intp],
    level: float,
    number: int,
) -> JudgedSplit | None:
    """Compare how well the parts of a split are separated with those of measurements without clusters."""
    objects, parts = _sample(one, other, np.random.default_rng((seed, number, 0)))
    k = _clusters_within(whole, objects)
    points, codes = principal_sample(as_features(np.asarray(features.data[objects])), parts, seed)
    if k is None or len(points) < 20 or points.shape[1] == 0 or codes.max() < 1:
        return None
    share = len(objects) / (len(one) + len(other))
    along, widths = has_few_directions(points), widths_along(points)

    def draw(place: int) -> FloatArray:
        entropy = int(np.random.SeedSequence((seed, number, place)).generate_state(1)[0])
        drawn = drawn_reference(len(points), widths, np.random.default_rng(entropy))
        request = Request(min(whole.n_members, REFERENCE_MEMBERS), k, "kmeans", 1.0, 1.0)
        ensemble, _ = generate_with_models(as_features(drawn), request, entropy, Options(told=""))
        split = divide(ensemble, share)
        if split is None:
            return np.full(3, np.nan)
        return compared_values([separation(drawn[split >= 0], split[split >= 0], along=along)])[:, 0]

    own = compared_values([separation(points, codes, along=along)])[:, 0]
    return _judged(own, draw, np.array(FLAT_ALONG if along else FLAT), np.array(LEAST_SPREAD), level)


def _clusters_within(ensemble: Ensemble, objects: NDArray[np.intp]) -> tuple[int, int] | None:
    """The lowest and highest number of clusters that members have within a node; None if they do not divide it.

    Clusters count by their sizes: the exponential of the entropy is 2 for two halves, and near 1 for a sliver.
    """
    numbers = []
    for column in ensemble.labels[objects].T:
        sizes = np.unique(column[column >= 0], return_counts=True)[1]
        shares = sizes / max(sizes.sum(), 1)
        numbers.append(np.exp(-(shares * np.log(shares)).sum()))
    low, high = (round(float(value)) for value in np.quantile(numbers, (0.1, 0.9)))
    return None if max(numbers) < 1.1 else (max(2, low), max(2, high))


def _judged(
    own: FloatArray, draw: Callable[[int], FloatArray], allowance: FloatArray, least: FloatArray, level: float
) -> JudgedSplit:
    """Draw the reference until the answer is clear; of several values the one that is highest above it counts.

    `allowance` is taken from the observed values alone: so much references may differ from other data without clusters.
    A draw that has no split with parts large enough is NaN, and is divided less well than any other.
    """
    drawn: list[FloatArray] = []
    most = max(MOST, min(MOST_OF_SMALL, int(np.ceil(1.5 / max(level, 1e-9)))))
    while True:
        drawn.append(draw(len(drawn) + 1))
        if len(drawn) < FEWEST:
            continue
        strength, others = _strengths(own - allowance, np.array(drawn), least)
        above = int((others >= strength).sum())
        p_value = (1 + above) / (1 + len(drawn))
        # where most draws have no split there is no distribution whose tail could be continued
        if not above and np.isfinite(others).mean() > 0.5:
            p_value = min(p_value, _tail(strength, others[np.isfinite(others)]))
        if len(drawn) >= most or above >= ENOUGH or (not above and p_value < level / 10):
            return JudgedSplit(strength, p_value, len(drawn))


def _strengths(own: FloatArray, values: FloatArray, least: FloatArray) -> tuple[float, FloatArray]:
    """How many standard deviations the observed values and those of each draw lie above the mean: the best of each."""
    mean, spread = _moments(values)
    spread = np.maximum(spread, least)
    strength = np.fmax.reduce((own - mean) / spread)
    others = np.fmax.reduce((values - mean) / spread, axis=1)
    return float(np.nan_to_num(strength, nan=0.0)), np.where(np.isnan(others), -np.inf, others)


def _moments(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mean and standard deviation of each column, without NaN; 0 for columns of less than two values."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    filled = np.where(known, values, 0.0)
    mean = filled.sum(axis=0) / np.maximum(count, 1)
    squares = np.where(known, (values - mean) ** 2, 0.0).sum(axis=0)
    spread = np.sqrt(squares / np.maximum(count - 1, 1))
    return np.where(count > 1, mean, np.nan), spread


def _tail(strength: float, others: FloatArray) -> float:
    """The probability of a value as high, by a Gumbel distribution of the same mean and standard deviation."""
    scale = max(float(others.std(ddof=1)), 1e-9) * GUMBEL[0]
    place = (strength - float(others.mean())) / scale + GUMBEL[1]
    return float(-np.expm1(-np.exp(-min(place, 700.0))))
