"""`rules`: a short rule for each cluster, such as "income above 30 and town is B", with its precision and recall."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.typed_columns import TypedColumn, TypedTable, power_of_two, typed_table
from quorate._evaluation.explanation import CLEAR, labels_beside
from quorate._summaries import need_library
from quorate._types import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas

Mask = NDArray[np.bool_]
MOST_OBJECTS = 20_000
"""Objects that rules are sought on; their precision and recall are counted on all others."""
MOST_COLUMNS = 500
"""Columns of a sparse matrix that rules may use: those that differ most between clusters."""

DIGITS = 4
"""Digits of a limit; more if the values of a column have more in common, such as years and time stamps."""
FAR = 1000.0
"""A column is far from zero if its mean is more than this many standard deviations: float32 has seven digits."""
LEAST = CLEAR / (CLEAR**2 + 4) ** 0.5
"""A rule must have this correlation with its cluster on the other half: that of two groups which differ by `CLEAR`."""


class Condition(NamedTuple):
    """One condition on one column: `relation` is "above", "at most", "is" or "is not"; objects without a value fail."""

    column: str
    relation: str
    value: Any
    text: str

    def holds(self, column: TypedColumn) -> Mask:
        """Return for each object whether it fulfils the condition."""
        known = ~column.missing
        if self.relation in ("is", "is not"):
            wanted = (column.categories or ("no", "yes")).index(str(self.value))
            same: Mask = column.values == wanted
            return known & (same if self.relation == "is" else ~same)
        above: Mask = column.values > self.value
        return known & (above if self.relation == "above" else ~above)


class ClusterRule(NamedTuple):
    """A rule for one cluster; an object fulfils it if all conditions hold.

    `precision` is the share of the objects that fulfil the rule which are in the cluster, and `recall` the share of the
    cluster that fulfils it; both are None if the half that they are counted on has no such objects. A cluster that no
    rule tells apart has no conditions.
    """

    cluster: str
    conditions: tuple[Condition, ...]
    precision: float | None
    recall: float | None

    @property
    def text(self) -> str:
        """The rule in words."""
        return " and ".join(condition.text for condition in self.conditions) or "no rule separates it"


@dataclass(frozen=True, eq=False, repr=False)
class Rules:
    """A rule for each cluster, as `rules` returns them; prints one line per cluster.

    Parameters
    ----------
    rows : tuple of ClusterRule
        One for each cluster.
    left_out : mapping
        Columns that could not be used, with the reason.
    """

    rows: tuple[ClusterRule, ...]
    left_out: Mapping[str, str]

    def __repr__(self) -> str:
        def share(value: float | None) -> str:
            return "unknown" if value is None else f"{value:.0%}"

        def quality(rule: ClusterRule) -> str:
            known = f" (precision {share(rule.precision)}, recall {share(rule.recall)})"
            return known if rule.conditions else ""

        return "\n".join(f"{rule.cluster}: {rule.text}{quality(rule)}" for rule in self.rows)

    def as_dict(self) -> dict[str, Any]:
        """Return the rules as lists and dictionaries of plain types."""
        rows = [
            {**rule._asdict(), "conditions": [condition._asdict() for condition in rule.conditions], "text": rule.text}
            for rule in self.rows
        ]
        return {"rules": rows, "left_out": dict(self.left_out)}

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with one row per cluster."""
        rows = [(rule.cluster, rule.text, rule.precision, rule.recall) for rule in self.rows]
        frame: pandas.DataFrame = need_library("pandas").DataFrame(
            rows, columns=["cluster", "rule", "precision", "recall"]
        )
        return frame


def rules(
    labels: Any,
    table: Any,
    *,
    ids: str | None = None,
    names: Sequence[str] | None = None,
    most_conditions: int = 3,
    random_state: Any = 0,
) -> Rules:
    """Return a short rule for each cluster over the columns of a table, with its precision and recall.

    Parameters
    ----------
    labels : Consensus, or labels of the objects
        Matched with the table by id if both have ids, otherwise by order. Objects without a label are left out.
    table : data frame, mapping of columns, array or sparse matrix
        As for `explain`.
    ids : str, optional
        The column of a data frame that names the objects.
    names : sequence of str, optional
        Names of the columns of an array or a sparse matrix.
    most_conditions : int, default 3
        The largest number of conditions of a rule.
    random_state : None, int or RandomState
        The same seed gives the same halves.

    Returns
    -------
    Rules
        Printed with one line per cluster; `as_dict` and `to_frame` contain the same.

    See Also
    --------
    explain : The columns in which each cluster differs most.

    Notes
    -----
    For each cluster a decision tree of that depth is grown on a random half of the objects (at most 20,000), and the
    leaf with the best balance of precision and recall (F1) is taken; conditions that do not improve it are dropped.
    Precision and recall are counted on the other half, which the rule has not seen. A rule that hardly tells the
    cluster apart there, with a correlation below .24, is not given: "no rule separates it".

    Examples
    --------
    >>> people = {"income": [*range(20, 40), *range(60, 80)], "town": ["A", "B"] * 20}
    >>> rules(["low"] * 20 + ["high"] * 20, people)
    low: income at most 49.5 (precision 100%, recall 100%)
    high: income above 49.5 (precision 100%, recall 100%)
    """
    depth = _check.integer(most_conditions, "most_conditions", low=1, high=10)
    typed = typed_table(table, ids=ids, names=names)
    labelling = labels_beside(labels, typed)
    typed = _without_matrix(typed, labelling.codes, labelling.n_clusters)
    order = _check.generator(random_state).permutation(np.flatnonzero(labelling.codes >= 0))
    seen, unseen = order[::2], order[1::2]
    finder = _Finder(typed, labelling.codes, seen[:MOST_OBJECTS], depth)
    rows = []
    for cluster, name in enumerate(labelling.categories.tolist()):
        conditions = finder.rule(cluster)
        holds, inside = finder.holds(conditions)[unseen], labelling.codes[unseen] == cluster
        if not _tells_apart(holds, inside):
            rows.append(ClusterRule(str(name), (), None, None))
            continue
        rows.append(ClusterRule(str(name), conditions, *(_quality(holds, inside) if conditions else (None, None))))
    return Rules(tuple(rows), typed.left_out)


def _without_matrix(table: TypedTable, codes: IntArray, n_clusters: int) -> TypedTable:
    """Return a sparse table with its most different columns made dense; other tables as they are."""
    if table.matrix is None:
        return table
    matrix, known = table.matrix, codes >= 0
    member = np.equal.outer(np.arange(n_clusters), codes)[:, known]
    means = (matrix[known].T @ member.T) / np.maximum(member.sum(axis=1), 1)
    chosen = np.sort(np.argsort(-np.ptp(np.asarray(means), axis=1), kind="stable")[:MOST_COLUMNS])
    dense = np.asarray(matrix[:, chosen].toarray(), dtype=np.float64)
    columns = tuple(TypedColumn(table.names[place], "number", dense[:, i]) for i, place in enumerate(chosen.tolist()))
    return table._replace(columns=columns, matrix=None)


class _Finder:
    """Finds rules on the objects `seen`: a tree over numbers, and over a column of 0 and 1 for each category."""

    def __init__(self, table: TypedTable, codes: IntArray, seen: IntArray, depth: int) -> None:
        self._columns = {column.name: column for column in table.columns}
        self._codes, self._seen, self._depth, self._n_objects = codes, seen, depth, table.n_objects
        self._tests: list[tuple[TypedColumn, str | None]] = [
            (column, None) for column in table.columns if column.kind != "category"
        ]
        self._tests += [(c, level) for c in table.columns if c.kind == "category" for level in c.categories]
        filled = [_filled(column, level, seen) for column, level in self._tests]
        self._units = [_unit_of(values, column) for values, (column, _) in zip(filled, self._tests, strict=True)]
        filled = [(values - unit.origin) / unit.scale for values, unit in zip(filled, self._units, strict=True)]
        self._matrix = np.column_stack(filled) if filled else np.empty((len(seen), 0))

    def rule(self, cluster: int) -> tuple[Condition, ...]:
        """Return the conditions of the best leaf of a tree for one cluster; none if no tree separates it."""
        inside = self._codes[self._seen] == cluster
        if not self._tests or not inside.any() or inside.all():
            return ()
        from sklearn.tree import DecisionTreeClassifier

        least = max(1, round(0.05 * int(inside.sum())))
        tree = DecisionTreeClassifier(
            max_depth=self._depth, min_samples_leaf=least, class_weight="balanced", random_state=0
        )
        paths = self._paths(tree.fit(self._matrix, inside).tree_)
        best = max(paths, key=lambda path: self._f1(path, inside), default=())
        return self._shortened(best, inside)

    def _paths(self, tree: Any) -> list[tuple[Condition, ...]]:
        """Return the conditions on the way to each leaf in which the cluster is the larger side."""
        found: list[tuple[Condition, ...]] = []
        stack: list[tuple[int, tuple[Condition, ...]]] = [(0, ())]
        while stack:
            node, path = stack.pop()
            if tree.children_left[node] < 0:
                if path and tree.value[node][0].argmax() == 1:
                    found.append(_merged(path))
                continue
            column, level = self._tests[tree.feature[node]]
            threshold = self._units[tree.feature[node]].value(float(tree.threshold[node]))
            for child, above in ((tree.children_left[node], False), (tree.children_right[node], True)):
                stack.append((child, (*path, _condition(column, level, threshold, above))))
        return found

    def _shortened(self, path: tuple[Condition, ...], inside: Mask) -> tuple[Condition, ...]:
        """Return the path without conditions that do not raise the balance of precision and recall."""
        for condition in path:
            rest = tuple(other for other in path if other != condition)
            if rest and self._f1(rest, inside) >= self._f1(path, inside) - 0.005:
                return self._shortened(rest, inside)
        return path

    def _f1(self, path: tuple[Condition, ...], inside: Mask) -> float:
        precision, recall = _quality(self.holds(path)[self._seen], inside)
        return 2 * precision * recall / (precision + recall) if precision and recall else 0.0

    def holds(self, path: tuple[Condition, ...]) -> Mask:
        """Return for each object of the table whether it fulfils all conditions."""
        every = (condition.holds(self._columns[condition.column]) for condition in path)
        return reduce(np.logical_and, every, np.ones(self._n_objects, dtype=bool))


def _filled(column: TypedColumn, level: str | None, rows: IntArray) -> FloatArray:
    """Return a column for the tree: gaps are filled with the median, a category is 1 where it is `level`."""
    values = column.values[rows]
    if level is not None:
        is_level: FloatArray = (values == column.categories.index(level)).astype(np.float64)
        return is_level
    known = values[~np.isnan(values)]
    filled: FloatArray = np.where(np.isnan(values), np.median(known) if len(known) else 0.0, values)
    return filled


class _Unit(NamedTuple):
    """How values become those of a tree, which works in float32 and sees no difference below 1e-7."""

    origin: float
    scale: float
    digits: int

    def value(self, threshold: float) -> float:
        """Return a threshold of the tree in the units of the column, with no more digits than its spread needs."""
        return float(f"{self.origin + threshold * self.scale:.{self.digits}g}")


def _unit_of(values: FloatArray, column: TypedColumn) -> _Unit:
    """Return the unit of a column: its own, unless values are tiny, huge, or far from zero for their spread."""
    scale = float(power_of_two(values))
    centre, spread = float((values / scale).mean()), float((values / scale).std())
    far = abs(centre) / spread if spread > 0 else 0.0
    is_far, digits = far > FAR, min(17, DIGITS + max(0, math.ceil(math.log10(max(far, 1))) - 1))
    is_plain = 1e-3 <= scale <= 1e30 and not is_far
    return _Unit(
        centre * scale if is_far else 0.0,
        1.0 if is_plain else (spread if is_far else 1) * scale,
        digits if column.kind == "number" else 17,
    )


def _condition(column: TypedColumn, level: str | None, threshold: float, above: bool) -> Condition:
    name = column.name
    if level is not None:
        relation = "is" if above else "is not"
        return Condition(name, relation, level, f"{name} {relation} {level}")
    if column.kind == "yes/no":
        word = (column.categories or ("no", "yes"))[above]
        return Condition(name, "is", word, f"{name} is {word}")
    relation = "above" if above else "at most"
    if column.kind == "date":
        day = int(np.floor(threshold))
        last = day + 1 - 1e-9  # the whole of the day
        return Condition(name, relation, last, f"{name} {'after' if above else 'until'} {np.datetime64(day, 'D')}")
    return Condition(name, relation, threshold, f"{name} {relation} {threshold:.15g}")


def _merged(path: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Return the path with one lower and one upper limit for each column: the tightest ones."""
    kept: dict[tuple[Any, ...], Condition] = {}
    for condition in path:
        limit = condition.relation in ("above", "at most")
        key = (condition.column, condition.relation, None if limit else condition.value)
        before = kept.get(key)
        tighter = before is None or not limit or (condition.value > before.value) == (condition.relation == "above")
        if tighter:
            kept[key] = condition
    return tuple(kept.values())


def _tells_apart(holds: Mask, inside: Mask) -> bool:
    """Whether objects that fulfil a rule are in the cluster clearly more often than others; true if that is unknown.

    If none of these objects is in the cluster, that is unknown as long as none fulfils the rule.
    """
    if len(np.unique(inside)) < 2:
        return bool(inside.any() or not holds.any())
    return len(np.unique(holds)) == 2 and float(np.corrcoef(holds, inside)[0, 1]) >= LEAST


def _quality(holds: Mask, inside: Mask) -> tuple[float | None, float | None]:
    """Return precision and recall; None where there is nothing to divide by."""
    hits = int((holds & inside).sum())
    n_holding, n_inside = int(holds.sum()), int(inside.sum())
    return (hits / n_holding if n_holding else None), (hits / n_inside if n_inside else None)
