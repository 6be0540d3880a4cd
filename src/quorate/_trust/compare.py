"""Reading the option that names several numbers of clusters."""

from __future__ import annotations

import logging
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._consensus.confidence import with_confidence
from quorate._consensus.consensus import solve
from quorate._data.ensemble import as_ensemble
from quorate._data.labelling import Labelling, code_beside
from quorate._data.outside import inside_rows, part_inside
from quorate._data.rows import as_objects, compress, expand, permuted, select_members
from quorate._evaluation.scores import mean_density_within, score_labelling
from quorate._solve.own_method import method_names
from quorate._solve.procedure import draw_objects, procedure_of
from quorate._summaries import need_library
from quorate._trust.agreement import held_out_agreement
from quorate._types import MAX_BYTES, Consensus, Ensemble, FloatArray
from quorate.methods import METHODS
from quorate.solvers.contingency import ari, contingency, nmi
from quorate.solvers.label_rows import take

if TYPE_CHECKING:
    import pandas


def numbers_asked(wanted: Any) -> tuple[int, ...]:
    """Return the numbers that an integer, a range, (lowest, highest) or a longer list stands for, in rising order."""
    if isinstance(wanted, numbers.Integral):
        wanted = [wanted]
    elif isinstance(wanted, list | tuple) and len(wanted) == 2:
        low = _check.integer(wanted[0], "the lowest n_clusters", low=2)
        wanted = range(low, _check.integer(wanted[1], "the highest n_clusters", low=low) + 1)
    if not isinstance(wanted, list | tuple | range) or not len(wanted):
        raise TypeError(
            f"n_clusters must be a number, a range, (lowest, highest) or a list of numbers, got {wanted!r}."
        )
    return tuple(sorted({_check.integer(k, "n_clusters", low=2, advice="one cluster has no rival.") for k in wanted}))


logger = logging.getLogger("quorate")


SHARE = 0.8
"""The share of the members that are drawn for a repeated run."""
VALUES = ("anmi", "density", "agreement", "null", "stability", "seconds", "nmi", "ari")
USUAL = ("kmeans", "transfer", "lwgp", "mcla")


class Compared(NamedTuple):
    """One method with one number of clusters; if the method failed, values are None and `failed` is the reason.

    `anmi` is the ANMI with the members, and `density` the mean co-association within clusters. `agreement` is that of
    `evaluate`: the mean NMI with members that were left out, of the consensus of the others; `null` is the same for
    permuted labels, what the method reaches by chance. `stability` is the mean ARI with the runs on draws of the
    members. These three are None if nothing was repeated. `seconds` is the median time of a run. `nmi` and
    `ari` compare with the truth if it is given.
    """

    method: str
    n_clusters: int
    anmi: float | None
    density: float | None
    agreement: float | None
    null: float | None
    stability: float | None
    seconds: float | None
    failed: str = ""
    nmi: float | None = None
    ari: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The table that `compare` returns: one `Compared` for each method and number of clusters; prints as a table."""

    rows: tuple[Compared, ...]
    ensemble: Ensemble
    inverse: NDArray[np.intp]
    by_row: Mapping[tuple[str, int], Consensus]

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.method for row in self.rows))

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(sorted({row.n_clusters for row in self.rows}))

    def result(self, method: str, n_clusters: int) -> Consensus:
        """Return the consensus of one line of the table."""
        _check.choice(method, "method", self.methods)
        _check.choice(n_clusters, "n_clusters", self.numbers)
        if (method, n_clusters) not in self.by_row:
            why = next(row.failed for row in self.rows if row[:2] == (method, n_clusters))
            raise ValueError(f"method {method!r} gave no answer for {n_clusters} clusters: {why}")
        rows, result = compress(self.ensemble)[0], self.by_row[method, n_clusters]
        result = with_confidence(rows, result, procedure_of(result, result.n_clusters))
        return expand(result, self.inverse, self.ensemble.object_ids)

    def matrix(self, value: str = "agreement") -> FloatArray:
        """Return one of the values as an array of shape (methods, numbers); NaN if the method failed."""
        _check.choice(value, "value", VALUES)
        values = {row[:2]: getattr(row, value) for row in self.rows}
        cells = [[values[method, k] for k in self.numbers] for method in self.methods]
        return np.array(cells, dtype=np.float64)

    def as_dict(self) -> dict[str, Any]:
        return {"comparison": [row._asdict() for row in self.rows]}

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with one row per method and number of clusters."""
        library = need_library("pandas")
        frame: pandas.DataFrame = library.DataFrame(list(self.rows), columns=list(Compared._fields))
        return frame

    def __str__(self) -> str:
        width = max(len("method"), *(len(method) for method in self.methods))
        true = any(row.nmi is not None for row in self.rows)
        head = "     k    anmi  density  agreement    null  stability  seconds" + ("     nmi     ari" if true else "")
        lines = [f"{'method':<{width}}{head}"]
        sizes, digits = (6, 7, 9, 6, 9, 7, 6, 6), (4, 4, 4, 4, 4, 3, 4, 4)
        for row in self.rows:
            values = (*row[2:8], *((row.nmi, row.ari) if true else ()))
            cells = [
                f"{'-':>{size}}" if value is None else f"{value:>{size}.{digit}f}"
                for value, size, digit in zip(values, sizes, digits, strict=False)
            ]
            reason = f"  {row.failed}" if row.failed else ""
            lines.append(f"{row.method:<{width}}  {row.n_clusters:>4}  " + "  ".join(cells) + reason)
        return "\n".join(lines)

    __repr__ = __str__


class _Draw(NamedTuple):
    """A draw of members: their distinct rows, the rows of the whole ensemble that they label, and a seed.

    `kept` are the numbers of the rows of the whole ensemble, and `inverse` gives the distinct row of each of them.
    """

    rows: Ensemble
    kept: NDArray[np.intp]
    inverse: NDArray[np.intp]
    seed: int


def compare(
    labels: Any,
    methods: Sequence[str | Callable[..., Any]] = USUAL,
    n_clusters: Any = (2, 9),
    *,
    n_repeats: int = 5,
    random_state: Any = None,
    max_bytes: int = MAX_BYTES,
    truth: Any = None,
) -> Comparison:
    """Run several methods for several numbers of clusters on the same labels and score every result.

    For each method and number of clusters, the method is first run on all members. Its labelling is scored by its ANMI
    with the members and by its density. Then members are left out in groups and the method is run on the others, and
    again on permuted labels: how well the results match the members left out is the agreement, and its null value.
    Last, the run is repeated on draws of four fifths of the members, each with another seed; the draws are the same for
    all methods. The mean ARI of these runs with the first one is the stability.

    Parameters
    ----------
    labels : Ensemble, or anything `as_ensemble` takes
        The members. Objects outside (noise, or without any label) are left out.
    methods : sequence of str or functions
        Names in METHODS, or functions of your own as for `consensus`; by default four whose time is about linear in
        the number of rows.
    n_clusters : int, range, (lowest, highest) or list of numbers
        The numbers of clusters. Both ends of a pair are included.
    n_repeats : int
        The number of repeated runs for the stability. With 0 nothing is repeated: there is neither stability nor
        agreement.
    random_state : None, int, Generator or RandomState
        The same seed gives the same table, except for the seconds.
    max_bytes : int
        As for `consensus`.
    truth : labels, optional
        Known classes of the objects, for the columns `nmi` and `ari`.

    Returns
    -------
    Comparison
        Prints as a table. `as_dict`, `to_frame` and ``matrix("agreement")`` return its values, ``result(method, k)``
        returns one consensus, whose confidence is estimated then, and `quorate.plot.comparison` draws a heat map.

    See Also
    --------
    choose_k : Compares several criteria for the number of clusters of one method.
    over_k : Describes, for each number of clusters, how well members of that number agree.

    Notes
    -----
    Methods with the same number of clusters can be compared by each value. Different numbers of clusters are harder to
    compare: ANMI and agreement favour the numbers that the members have, and density grows with the number. An
    agreement that is not above its null value is one by chance. A method that fails stays in the table with the
    reason. The seconds of the first method include the compilation of kernels if nothing was run before; the median
    over repeated runs is not affected by it.

    Examples
    --------
    >>> members = [[0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1, 2, 2]]
    >>> table = compare(members, ["kmeans", "eac"], (2, 3), random_state=0)
    >>> table.matrix("anmi").round(3)
    array([[0.674, 0.918],
           [0.726, 0.918]])
    >>> table.result("eac", 3).labels
    array([0, 0, 0, 1, 1, 1, 2, 2], dtype=int32)
    """
    names = _method_names(methods)
    numbers = numbers_asked(n_clusters)
    n_draws = _check.integer(n_repeats, "n_repeats", low=0)
    rng = _check.generator(random_state)
    ensemble = as_ensemble(labels)
    classes = None if truth is None else code_beside(truth, "truth", ensemble)
    inside = inside_rows(ensemble)
    if inside is not None:
        ensemble = part_inside(ensemble, inside)
        classes = None if classes is None else classes._replace(codes=classes.codes[inside])
    rows, inverse = compress(ensemble)
    seed = int(rng.integers(2**62))
    draws = [_draw(rows, rng) for _ in range(n_draws)]
    results: dict[tuple[str, int], Consensus] = {}
    table = []
    for method in names:
        for k in numbers:
            row, result = _compared(rows, method, k, seed, draws, max_bytes)
            if classes is not None and result is not None:
                row = _beside_truth(row, ensemble, classes, result.labels[inverse])
            table.append(row)
            if result is not None:
                results[method, k] = result
            share = len(table) / (len(names) * len(numbers))
            logger.info("compare: %s with %d clusters done", method, k, extra={"share": share})
    return Comparison(tuple(table), ensemble, inverse, results)


def _beside_truth(row: Compared, ensemble: Ensemble, classes: Labelling, labels: NDArray[np.int32]) -> Compared:
    """NMI and ARI with the known classes, over objects that have one."""
    table = contingency(labels, classes.codes, int(labels.max()) + 1, classes.n_clusters, ensemble.counts)
    return row._replace(nmi=float(nmi(table, "geometric")), ari=float(ari(table)))


def _method_names(methods: Any) -> tuple[str, ...]:
    methods = method_names(methods)
    if isinstance(methods, str) or not isinstance(methods, Sequence) or not len(methods):
        raise TypeError(f"methods must be a list of names such as ['kmeans', 'eac'], got {methods!r}.")
    return tuple(
        dict.fromkeys(name if name in METHODS else _check.choice(name, "a method", tuple(METHODS)) for name in methods)
    )


def _draw(rows: Ensemble, rng: np.random.Generator) -> _Draw:
    """Draw some of the members, and keep the rows that they label."""
    size = max(1, round(SHARE * rows.n_members))
    members = np.sort(rng.permutation(rows.n_members)[:size])
    drawn = select_members(rows, members)
    kept = np.flatnonzero(drawn.labels.max(axis=1) >= 0)
    distinct, inverse = compress(take(drawn, kept, drawn.counts[kept]))
    return _Draw(distinct, kept, inverse, int(rng.integers(2**62)))


def _compared(
    rows: Ensemble, method: str, k: int, seed: int, draws: list[_Draw], max_bytes: int
) -> tuple[Compared, Consensus | None]:
    try:
        result, seconds = _timed(rows, method, k, seed, max_bytes)
    except (ValueError, MemoryError) as error:
        return Compared(method, k, None, None, None, None, None, None, failed=str(error)), None
    times, scores = [seconds], []
    for draw in draws:
        try:
            other, seconds = _timed(draw.rows, method, k, draw.seed, max_bytes)
        except (ValueError, MemoryError):
            # fewer members have fewer distinct rows, so that a method may fail; this counts as no agreement
            scores.append(0.0)
            continue
        times.append(seconds)
        both = (result.labels[draw.kept], other.labels[draw.inverse])
        sizes = (result.n_clusters, other.n_clusters)
        scores.append(ari(contingency(*both, *sizes, rows.counts[draw.kept])))
    scored = score_labelling(Labelling(result.labels, np.arange(result.n_clusters)), rows)
    agreement, null = _agreement(rows, result) if draws else (None, None)
    row = Compared(
        method=method,
        n_clusters=k,
        anmi=scored.anmi(),
        density=mean_density_within(scored),
        agreement=agreement,
        null=null,
        stability=float(np.mean(scores)) if scores else None,
        seconds=float(np.median(times)),
    )
    return row, result


def _agreement(rows: Ensemble, result: Consensus) -> tuple[float | None, float | None]:
    """The agreement with members left out, and the same for labels permuted within each member."""
    procedure = procedure_of(result, result.n_clusters)
    drawn = draw_objects(rows, Labelling(result.labels, np.arange(result.n_clusters)), procedure.seed)
    without = permuted(as_objects(drawn.ensemble), np.random.default_rng((procedure.seed, 1)))
    values = [
        held_out_agreement(drawn._replace(ensemble=members), procedure).consensus
        for members in (drawn.ensemble, without)
    ]
    return values[0], values[1]


def _timed(rows: Ensemble, method: str, k: int, seed: int, max_bytes: int) -> tuple[Consensus, float]:
    start = perf_counter()
    # the time of the method alone is wanted, and `Comparison.result` estimates the confidence of what is asked for
    result = solve(rows, k, method=method, random_state=seed, max_bytes=max_bytes, confidence=False)
    return result, perf_counter() - start
