"""The data types Ensemble, SoftEnsemble, Consensus, Method and Scores; the options that travel: Reading and Solving."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._check import counted
from quorate._summaries import MemberTable, Placement, Profiles, ResultTable, StabilityTable
from quorate._verdict import Evidence, Verdict, verdict_of


class Size(NamedTuple):
    """How large an ensemble is: its rows, its members, the clusters of all members and of the largest one.

    `wanted` is the number of clusters asked for.
    """

    rows: int
    members: int
    clusters: int
    largest: int
    wanted: int


def no_tables(_: Size) -> int:
    """What a method needs that has no tables between clusters; a method of the register states its own."""
    return 0


IntArray = NDArray[Any]
FloatArray = NDArray[np.float64]
Memory = Literal["linear", "quadratic"]
Json = Mapping[str, Any]
"""A JSON object of a file, a store or the report's page: what reads it proves the type of each entry by itself."""
Info = Mapping[str, Any]
"""What a method or a judge says about a result: each chooses its entries, which users read by name."""
_R = TypeVar("_R", bound="_Rows")
NEEDS_LABELS = (
    "members are soft (matrices of memberships, or a SoftEnsemble), and labels are needed here; pass "
    "quorate.harden(members), in which each object has the label of its likeliest cluster."
)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a C-ordered view that cannot be written to; the array is copied only if it is not in C order.

    Kernels are compiled for one kind of array, so that every array they get must have the same order and flags.
    """
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


class _Rows:
    """The attributes that rows of labels and rows of memberships have in common."""

    counts: NDArray[np.int64]
    n_clusters: NDArray[np.int64]
    weights: FloatArray
    object_ids: NDArray[Any] | None
    id_name: str

    @property
    def n_rows(self) -> int:
        return len(self.counts)

    @property
    def n_members(self) -> int:
        return len(self.n_clusters)

    @cached_property
    def n_objects(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """The number of each member's first cluster if all d clusters are numbered 0..d-1; the last entry is d."""
        return read_only(np.concatenate([[0], np.cumsum(self.n_clusters)]).astype(np.int64))

    @cached_property
    def unit_weights(self) -> bool:
        return bool(np.all(self.weights == 1.0))

    # An ensemble never changes, so `compress` stores its result here, or that all rows are distinct already, and
    # `proven` stores that everything compiled code relies on was checked.
    # A stored result never refers to its own ensemble, so that memory is freed without a garbage collector.
    compressed: ClassVar[Any] = None
    is_distinct: ClassVar[bool] = False
    is_proven: ClassVar[bool] = False
    # Whether the table had a default index of pandas, which is a name beside other integers: _data/ids.py.
    has_default_index: ClassVar[bool] = False
    # Which labels are missing because a member calls the object noise, of the same shape as the labels; see
    # _data/outside.py. Functions that change rows forget it.
    noise: ClassVar[Any] = None
    # The file that the ensemble was read from, whose name `join` puts before members of the same name.
    source: ClassVar[str] = ""
    # The card that the labels live on, if they do, and the parts that rows are divided into (solvers/parts.py).
    card: ClassVar[Any] = None
    pieces: ClassVar[Any] = None

    def on_host(self: _R) -> _R:
        """Return the same ensemble in host memory: itself, unless it lives on a card."""
        return self

    def counts_beside_rows(self) -> Any:
        """Return the counts in the memory of the rows: on the card if the rows are there."""
        return self.counts

    def remember(self, **facts: Any) -> None:
        """Store facts that were computed about this ensemble; they are not part of its value and are not pickled."""
        self.__dict__.update(facts)

    def __getstate__(self) -> dict[str, Any]:
        forgotten = ("compressed", "is_distinct", "is_proven", "has_default_index", "source")
        return {name: value for name, value in self.__dict__.items() if name not in forgotten}

    @property
    def has_missing(self) -> bool:
        raise NotImplementedError

    def __repr__(self) -> str:
        low, high = int(self.n_clusters.min()), int(self.n_clusters.max())
        clusters = f"{low} to {high} clusters" if low != high else counted(low, "cluster")
        rows = "" if self.n_rows == self.n_objects else f" in {counted(self.n_rows, 'row')}"
        missing = ", labels missing" if self.has_missing else ""
        objects, members = counted(self.n_objects, "object"), counted(self.n_members, "member")
        return f"{type(self).__name__}({objects}{rows}, {members}, {clusters}{missing})"


class FieldsBesideRows(TypedDict, total=False):
    """Fields of an Ensemble or a SoftEnsemble that are not its rows, by their names; some of them or all."""

    n_clusters: NDArray[np.int64]
    weights: FloatArray
    member_names: tuple[str, ...]
    categories: tuple[NDArray[Any], ...]
    object_ids: NDArray[Any] | None
    info: Info
    id_name: str


class EnsembleFields(FieldsBesideRows, total=False):
    """Fields of an Ensemble or a SoftEnsemble by their names; some of them or all."""

    labels: IntArray
    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    memberships: NDArray[np.int32]
    counts: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble(_Rows):
    """Many labellings of the same objects, checked and coded; made by `as_ensemble`.

    Parameters
    ----------
    labels : array of shape (n_rows, n_members)
        Codes 0..k-1 in each column, -1 for a missing label; in C order, of the narrowest signed integer type.
    counts : int64 array of shape (n_rows,)
        How many objects share the row.
    n_clusters : int64 array of shape (n_members,)
        Number of clusters of each member.
    weights : float64 array of shape (n_members,)
        Weight of each member, ones by default.
    member_names : tuple of str
        Column names, or "member 0", "member 1", ...
    categories : tuple of arrays
        For each member, the label that each code stands for.
    object_ids : array or None
        Names of the objects, if the data had them and each row still is one object.
    id_name : str
        The name of the column of these names.
    info : mapping
        If `generate` made the ensemble, how it did: the seed, and what was drawn for each member.
    """

    labels: IntArray
    counts: NDArray[np.int64]
    n_clusters: NDArray[np.int64]
    weights: FloatArray
    member_names: tuple[str, ...]
    categories: tuple[NDArray[Any], ...]
    object_ids: NDArray[Any] | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    id_name: str = "id"

    unit: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for name in ("labels", "counts", "n_clusters", "weights"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @cached_property
    def has_missing(self) -> bool:
        return bool(self.labels.min() < 0)

    def _repr_html_(self) -> str:
        return ensemble_html(self)


@dataclass(frozen=True, eq=False, repr=False)
class SoftEnsemble(_Rows):
    """Many soft clusterings of the same objects, checked and coded; made by `as_soft_ensemble`.

    Row i belongs to the clusters ``columns[starts[i]:starts[i + 1]]``, with the memberships
    ``memberships[starts[i]:starts[i + 1]] / unit``. The clusters of all members are numbered together by `offsets`,
    and increase within a row. A label is a membership of `unit`. If a row has no membership in any cluster of a
    member, the label of that member is missing.

    Parameters
    ----------
    starts : int64 array of shape (n_rows + 1,)
        Where each row starts in `columns` and `memberships`; the last entry is their length.
    columns, memberships : int32 arrays
        The clusters of the rows, and the memberships in them.
    counts, n_clusters, weights, member_names, object_ids, id_name, info
        As in `Ensemble`.
    categories : tuple of arrays
        For each member, the column of its matrix, or the label, that each cluster stands for.
    """

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    memberships: NDArray[np.int32]
    counts: NDArray[np.int64]
    n_clusters: NDArray[np.int64]
    weights: FloatArray
    member_names: tuple[str, ...]
    categories: tuple[NDArray[Any], ...]
    object_ids: NDArray[Any] | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    id_name: str = "id"

    unit: ClassVar[int] = 2**16

    def __post_init__(self) -> None:
        for name in ("starts", "columns", "memberships", "counts", "n_clusters", "weights"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @cached_property
    def column_members(self) -> NDArray[np.int32]:
        """The member that each cluster belongs to, an array of length d, the number of all clusters."""
        return read_only(np.repeat(np.arange(self.n_members, dtype=np.int32), self.n_clusters))

    @cached_property
    def has_missing(self) -> bool:
        member = self.column_members[self.columns]
        first = np.ones(len(member), dtype=bool)
        first[1:] = member[1:] != member[:-1]
        first[self.starts[:-1]] = True
        return int(first.sum()) < self.n_rows * self.n_members

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(NEEDS_LABELS if name == "labels" else f"a SoftEnsemble has no attribute {name!r}.")


AnyEnsemble = Ensemble | SoftEnsemble
E = TypeVar("E", bound=Ensemble | SoftEnsemble)


@dataclass(frozen=True, eq=False, repr=False)
class Consensus(ResultTable):
    """A consensus labelling and what its method reports about it.

    Parameters
    ----------
    labels : int32 array
        Clusters are numbered 0, 1, 2, ... by first appearance. -1 stands for objects that belong to no cluster, which
        there are only with the options `noise` and ``skip_empty="keep"`` of `consensus`.
    objective : float
        The value that the method optimised; its docstring says which quantity and in which direction.
    n_iter, converged : int, bool
        Iterations of the returned run, and whether it stopped by itself.
    confidence : float64 array or None
        The estimated probability that the same procedure would place the object in the same cluster on a fresh
        ensemble; docs/trust.md says how it is estimated. None if it was left out, or if there is only one member.
    tree : array or None
        A linkage matrix whose leaves are rows of the compressed ensemble (see `rows`). Its last column counts objects,
        so that SciPy takes it only as `linkage` returns it.
    info : mapping
        Further facts that the method reports.
    method : str
        The name of the method in METHODS.
    rows : array or None
        For each object, the row of the compressed ensemble that stood for it.
    object_ids : array or None
        Names of the objects, if the data had them.
    runner_up : int32 array or None
        For each object, the best other cluster by mean co-association; -1 if no other cluster shares a label with it.
    cluster_names, id_name : tuple of str or None, str
        Names given to the clusters by `renamed`, and the name of the column of the objects' names.
    """

    labels: NDArray[np.int32]
    objective: float
    n_iter: int = 1
    converged: bool = True
    confidence: FloatArray | None = None
    tree: FloatArray | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    method: str = ""
    rows: NDArray[np.intp] | None = None
    object_ids: NDArray[Any] | None = None
    runner_up: NDArray[np.int32] | None = None
    cluster_names: tuple[str, ...] | None = None
    id_name: str = "id"

    @cached_property
    def n_clusters(self) -> int:
        return int(self.labels.max()) + 1

    @property
    def stability(self) -> FloatArray | None:
        """For each cluster, how alike it and the nearest cluster are when the procedure is repeated: 0 to 1.

        This is the mean Jaccard similarity over repetitions with halves of the members and with halves of the objects,
        on at most 2,000 objects; `quorate.evaluate` has it in words. It is measured together with the confidence, so
        that it is None if that was left out, or if there is one member or one cluster.
        """
        found: FloatArray | None = self.info.get("confidence", {}).get("stability")
        return found

    @property
    def method_confidence(self) -> FloatArray | None:
        """For each object, how sure the method itself is, if it says so; None if it does not, after `refine`,
        or if small clusters were joined to others.

        For `mcla` this is the share of the object's known labels that fall into its meta-cluster (Strehl and Ghosh,
        3.4), for `ecpcs` likewise, and for `mixture` the posterior of the label. Unlike `confidence` it is no
        probability that the object stays where it is.
        """
        values = self.info.get("method_confidence")
        if values is None or "refine" in self.info or "min_size" in self.info:
            return None
        own: FloatArray = np.asarray(values)
        return own if self.rows is None else np.where(self.rows < 0, np.nan, own[self.rows])

    def __repr__(self) -> str:
        state = "" if self.converged else ", not converged"
        return (
            f"Consensus({counted(len(self.labels), 'object')} in {counted(self.n_clusters, 'cluster')} by "
            f"{self.method or 'a method'}, objective {self.objective:.6g}{state})"
        )

    def _repr_html_(self) -> str:
        return consensus_html(self)

    # A Consensus holds data alone. These methods only call the functions that need the members: decision 0007.

    def profiles(self, ensemble: Any) -> Profiles:
        """Return the share of each label of each member in each cluster; see `quorate.profiles`."""
        import quorate

        return quorate.profiles(self, ensemble)

    def explain(self, table: Any) -> Any:
        """Return the columns of a table in which each cluster differs most; see `quorate.explain`."""
        import quorate

        return quorate.explain(self, table)

    def members(self, ensemble: Any) -> MemberTable:
        """Compare each member with this result; see `quorate.members`."""
        import quorate

        return quorate.members(self, ensemble)

    def camps(self, ensemble: Any) -> tuple[Any, ...]:
        """Return the groups of members that disagree, each with its own consensus; see `quorate.camps`."""
        import quorate

        return quorate.camps(ensemble, self.n_clusters, method=self.method or "auto")

    def memberships(self, ensemble: Any) -> FloatArray:
        """Return how probably each object belongs to each cluster; see `quorate.memberships`."""
        import quorate

        return quorate.memberships(self, ensemble)

    def place(self, new_labels: Any, ensemble: Any) -> Placement:
        """Assign new objects to the clusters by their labels of the same members; see `quorate.place`."""
        import quorate

        return quorate.place(self, ensemble, new_labels)

    def divide(self, cluster: int | str, ensemble: Any, n_clusters: Any = None, features: Any = None) -> Any:
        """Return the sub-clusters of one cluster, with a verdict; see `quorate.divide`."""
        import quorate

        return quorate.divide(self, cluster, ensemble, n_clusters, features=features)

    def cut(self, n_clusters: int) -> Consensus:
        """Return the result with another number of clusters, from the same tree; see `quorate.recut`."""
        import quorate

        return quorate.recut(self, n_clusters)

    def splits(self, most: int = 50) -> list[Any]:
        """Return the first splits of the tree, from the top, with their gains; see `quorate.splits`."""
        import quorate

        return quorate.splits(self, most)

    def linkage(self, *, objects: bool = False) -> FloatArray:
        """Return the tree as a linkage matrix of SciPy, over rows or over objects; see `quorate.linkage`."""
        import quorate

        return quorate.linkage(self, objects=objects)


class Reading(NamedTuple):
    """How a table of labels is read: the options of `as_ensemble` and `load_labels`, except those that choose columns.

    `declared` says that the user named the columns of the members, so that they may look like ids. With `takes_all`,
    objects without any label are kept, and members that label nothing are left out: new objects that are to be placed
    may well be so. `likely_sep` is what separates columns if the first lines of a file leave it open.
    """

    missing: Any = -1
    weights: Any = None
    skip_empty: bool | str = False
    check: bool = True
    declared: bool = False
    takes_all: bool = False
    orientation: str | None = None
    ids: Any = None
    sep: str | None = None
    likely_sep: str | None = None
    formulas: str = "keep"
    encoding: str | None = None
    noise: Any = None
    duplicates: str = "refuse"


MethodOptions = Mapping[str, Any]
"""The options of one method of the register by name; that method knows their types and checks them."""
MAX_BYTES = 4_000_000_000
"""Memory beyond the linear that a method may ask for unless the caller says otherwise."""


@dataclass(frozen=True)
class Solving:
    """How the consensus of an ensemble is found: the options of `consensus`, without those that say how to read labels.

    Each public function makes one of its arguments and passes it on whole. `options` are the method's own options.
    """

    method: str = "auto"
    options: MethodOptions = field(default_factory=dict)
    coarsen: Any = None
    random_state: Any = None
    max_bytes: int = MAX_BYTES
    refine: bool = False
    confidence: bool = True
    device: str | None = None
    start: Any = None
    min_size: int = 1
    max_clusters: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "min_size", _check.integer(self.min_size, "min_size", low=1))
        if self.max_clusters is not None:
            object.__setattr__(self, "max_clusters", _check.integer(self.max_clusters, "max_clusters", low=1))
        object.__setattr__(self, "max_bytes", _check.n_bytes(self.max_bytes))
        _check.choice(self.refine, "refine", (True, False))
        _check.choice(self.confidence, "confidence", (True, False))

    @property
    def is_limited(self) -> bool:
        """Whether clusters are limited in size or number."""
        return self.min_size > 1 or self.max_clusters is not None

    def with_options(self, options: MethodOptions) -> Solving:
        """Return it with further options of `consensus` by name; those of no other use are the method's own."""
        names = ("coarsen", "max_bytes", "refine", "confidence", "min_size", "max_clusters")
        own = {name: options[name] for name in names if name in options}
        return replace(self, **own, options={name: options[name] for name in sorted(options) if name not in own})

    def keywords(self, *left_out: str) -> dict[str, Any]:
        """Return the options as public functions take them by name, except those that are left out."""
        own = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "options"}
        return {name: value for name, value in {**own, **self.options}.items() if name not in left_out}


@dataclass(frozen=True)
class Method:
    """An entry of the register METHODS: a consensus function and the facts about it that its callers need.

    `memory` and `time` say how both grow with the number of distinct rows if all options have their defaults. If the
    memory depends on options, `memory_for(ensemble, options)` returns the bytes needed beyond the linear part, for
    options that are not checked yet, and `instead` is the advice to the user if they are too many. `tables` returns the
    bytes of the tables between clusters from the size of the ensemble alone; see `solvers.sizes`. A method that
    `combines` others gets the argument `runs`: for each method that does not combine others, a function of n_clusters
    and a generator that runs it on the same ensemble within the same limits. Only `soft` methods get a SoftEnsemble.

    A method gets the members sorted by their labels, so that their order cannot change its result. If it gets them in
    the given order instead, `own_order` is the reason; otherwise it is empty. `by_member` names the entries of the
    method's info that are mappings from member names; they are returned in the given order of the members. Confidence
    is estimated alike for all methods; what a method itself returns there becomes ``info["method_confidence"]``.
    `by_row` names entries of `info` that have one value for each row.
    With all weights times c, the objective is c to the power `weighs` times what it was. A `warm` method takes labels
    of the rows to begin from, its argument `start`; rows of -1 have none, and a cluster may have no row. Greedy
    moves follow a method that `needs_moves` if weights were learnt and members agree little. A method that works
    `in_parts` never reads the rows themselves, so that they may be divided among processes.
    """

    solve: Callable[..., Consensus]
    title: str
    reference: str
    tables: Callable[[Size], int] = no_tables
    memory: Memory = "linear"
    time: Memory = "linear"
    finds_k: bool = False
    stochastic: bool = False
    memory_for: Callable[..., int] | None = None
    instead: str = ""
    combines: bool = False
    soft: bool = False
    own_order: str = ""
    by_member: tuple[str, ...] = ()
    weighs: int = 0
    by_row: tuple[str, ...] = ()
    warm: bool = False
    needs_moves: bool = False
    in_parts: bool = False


@dataclass(frozen=True, repr=False)
class Scores:
    """The scores that `evaluate` returns; they print as a table, and `as_dict` returns them as a dictionary.

    A score is None if it was not asked for. `anmi` and `density` compare the labelling with all members, including
    those that it was made from, and `mean_member` and `best_member` compare members with one another. A consensus wins
    such a comparison even on random labels. Fair are `agreement`, `agreement_mean_member` and `agreement_best_member`:
    the mean NMI with members that had no part in the labelling. The scores from `expected` to `n_permutations` say what
    permuted labels would give, those from `valley` to `n_draws` what measurements without clusters would give, and
    `verdict` says it in words. The other scores compare the labelling with the truth.
    """

    n_objects: int
    n_clusters: int
    anmi: float
    anmi_arithmetic: float
    density: float
    inter_density: float
    mean_member: float | None
    best_member: float | None
    nmi: float | None = None
    nmi_arithmetic: float | None = None
    ari: float | None = None
    accuracy: float | None = None
    ami: float | None = None
    jaccard: float | None = None
    fowlkes_mallows: float | None = None
    element_similarity: float | None = None
    variation_of_information: float | None = None
    agreement: float | None = None
    agreement_mean_member: float | None = None
    agreement_best_member: float | None = None
    expected: float | None = None
    z: float | None = None
    p_value: float | None = None
    adjusted: float | None = None
    reproducibility: float | None = None
    n_permutations: int | None = None
    valley: float | None = None
    expected_valley: float | None = None
    reference_z: float | None = None
    reference_p_value: float | None = None
    n_draws: int | None = None
    problem: str | None = field(default=None, repr=False)
    """What is wrong with the labelling itself, in a sentence; None if it is as good as a repetition of its method."""
    stability: StabilityTable | None = field(default=None, repr=False)
    """The stability of each cluster, which prints as a table; None if there is one cluster or one member."""
    # not scores, but the verdict must know them: how many times as many clusters members have on average
    more_clusters: float | None = field(default=None, repr=False)
    camps: tuple[tuple[str, ...], ...] | None = field(default=None, repr=False)
    """The names of the members of each camp, the largest camp first; None if the members do not fall into camps."""
    # and whether `generate` made the members from measurements
    from_measurements: bool = field(default=False, repr=False)

    @property
    def dissolving(self) -> float | None:
        """The share of the objects that are in clusters that dissolve when the consensus is repeated."""
        return None if self.stability is None else self.stability.dissolving

    @property
    def verdict(self) -> Verdict:
        """How far the labelling can be believed, as a grade and in words; see docs/trust.md."""
        return verdict_of(Evidence(*(getattr(self, name) for name in Evidence._fields)))

    def as_dict(self) -> dict[str, float | int | None]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.repr}

    def __str__(self) -> str:
        known = {name: value for name, value in self.as_dict().items() if value is not None}
        width = max(len(name) for name in known)
        return "\n".join(
            f"{name.replace('_', ' '):<{width}}  {value:>12,}"
            if isinstance(value, int)
            else f"{name.replace('_', ' '):<{width}}  {value:>12.6f}{self._note(name)}"
            for name, value in known.items()
        )

    def _note(self, name: str) -> str:
        """Say that a p-value is the least that so few repetitions can give, where it is."""
        times = {"p_value": self.n_permutations, "reference_p_value": self.n_draws}.get(name)
        if not times or getattr(self, name) > 1.5 / (1 + times):
            return ""
        return f"  (the least that {times:,} {'permutations' if name == 'p_value' else 'draws'} can give)"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return scores_html(self)


ROWS_SHOWN = 5
MEMBERS_SHOWN = 12
CLUSTERS_SHOWN = 20
LENGTH = 40
"""The number of characters of a label or a name that are shown."""
DOTS = "…"
GAP = "·"
"""The character shown for a missing label."""


def ensemble_html(ensemble: Ensemble) -> str:
    """Return a table of the first rows, under the members' names, with the labels as they were given."""
    members = range(min(ensemble.n_members, MEMBERS_SHOWN))
    more = [DOTS] if ensemble.n_members > MEMBERS_SHOWN else []
    aggregated = ensemble.n_rows != ensemble.n_objects
    head = ["", *(ensemble.member_names[member] for member in members), *more, *(["objects"] if aggregated else [])]
    body = []
    for row in range(min(ensemble.n_rows, ROWS_SHOWN)):
        name = row if ensemble.object_ids is None else ensemble.object_ids[row]
        labels = [_label(ensemble, row, member) for member in members]
        body.append([name, *labels, *more, *([f"{ensemble.counts[row]:,}"] if aggregated else [])])
    if ensemble.n_rows > ROWS_SHOWN:
        body.append([DOTS] * len(head))
    return _page(repr(ensemble), _table(head, body))


def _label(ensemble: Ensemble, row: int, member: int) -> Any:
    code = int(ensemble.labels[row, member])
    return GAP if code < 0 else ensemble.categories[member][code]


def consensus_html(result: Consensus) -> str:
    """Return a table of the clusters, with their sizes and, if it is known, their mean confidence."""
    sizes = np.bincount(result.labels[result.labels >= 0], minlength=result.n_clusters)
    head = ["cluster", "objects", "share"]
    columns = [[f"{size:,}" for size in sizes], [f"{size / max(1, sizes.sum()):.1%}" for size in sizes]]
    if result.confidence is not None:
        known = result.labels >= 0
        sums = np.bincount(result.labels[known], weights=result.confidence[known], minlength=result.n_clusters)
        head.append("mean confidence")
        columns.append([f"{value:.3f}" for value in sums / np.maximum(sizes, 1)])
    body: list[list[Any]] = [
        [name, *cells] for name, cells in zip(result.shown_names, zip(*columns, strict=True), strict=True)
    ]
    if len(body) > CLUSTERS_SHOWN:
        body = [*body[:CLUSTERS_SHOWN], [DOTS] * len(head)]
    return _page(repr(result), _table(head, body))


def scores_html(scores: Scores) -> str:
    """Return a table of the name and value of each score that is known."""
    known = {name: value for name, value in scores.as_dict().items() if value is not None}
    cells = [
        [name.replace("_", " "), f"{value:,}" if isinstance(value, int) else f"{value:.4f}"]
        for name, value in known.items()
    ]
    return _page("Scores", _table(["score", "value"], cells))


def _page(title: str, table: str) -> str:
    return f"<div><p><b>{escape(title)}</b></p>{table}</div>"


def _table(head: Sequence[Any], body: Iterable[Sequence[Any]]) -> str:
    top = "".join(f"<th>{_text(cell)}</th>" for cell in head)
    rows = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in body)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>"


def _text(value: Any) -> str:
    text = str(value)
    return escape(text if len(text) <= LENGTH else text[: LENGTH - 1] + DOTS)
