"""compare: methods and numbers of clusters side by side on the same labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._comparison.asked import numbers_asked
from quorate._consensus.consensus import expand
from quorate._consensus.run_method import MAX_BYTES
from quorate._consensus.solve import solve
from quorate._data.compression import compress
from quorate._data.ensemble import as_ensemble
from quorate._data.labelling import Labelling
from quorate._data.selection import select_members
from quorate._evaluation.scored import mean_density_within, score_labelling
from quorate._result_table import need_library
from quorate._types import Consensus, Ensemble, FloatArray
from quorate.methods import METHODS
from quorate.solvers.contingency import ari, contingency
from quorate.solvers.label_rows import take

if TYPE_CHECKING:
    import pandas

SHARE = 0.8
"""Share of the members that a repeated run sees."""
VALUES = ("agreement", "density", "stability", "seconds")
USUAL = ("kmeans", "transfer", "lwgp", "mcla")


class Compared(NamedTuple):
    """One method with one number of clusters; values are None where the method gave no answer, and `failed` says why.

    `agreement` is the ANMI with the members, `density` the mean co-association within clusters, `stability` the mean
    ARI with runs on other draws of the members (None where no run was repeated), `seconds` the median time of a run.
    """

    method: str
    n_clusters: int
    agreement: float | None
    density: float | None
    stability: float | None
    seconds: float | None
    failed: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What `compare` returns: one `Compared` for each method and number of clusters; prints as a table."""

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
        """The consensus behind one line of the table."""
        _check.choice(method, "method", self.methods)
        _check.choice(n_clusters, "n_clusters", self.numbers)
        if (method, n_clusters) not in self.by_row:
            why = next(row.failed for row in self.rows if row[:2] == (method, n_clusters))
            raise ValueError(f"method {method!r} gave no answer for {n_clusters} clusters: {why}")
        return expand(self.by_row[method, n_clusters], self.inverse, self.ensemble.object_ids)

    def matrix(self, value: str = "agreement") -> FloatArray:
        """One value as an array of shape (methods, numbers); NaN where there is none."""
        _check.choice(value, "value", VALUES)
        found = {row[:2]: getattr(row, value) for row in self.rows}
        cells = [[found[method, k] for k in self.numbers] for method in self.methods]
        return np.array(cells, dtype=np.float64)

    def as_dict(self) -> dict[str, Any]:
        return {"comparison": [row._asdict() for row in self.rows]}

    def to_frame(self) -> pandas.DataFrame:
        """One row per method and number of clusters as a pandas DataFrame."""
        library = need_library("pandas")
        frame: pandas.DataFrame = library.DataFrame(list(self.rows), columns=list(Compared._fields))
        return frame

    def __str__(self) -> str:
        width = max(len("method"), *(len(method) for method in self.methods))
        lines = [f"{'method':<{width}}     k  agreement  density  stability  seconds"]
        for row in self.rows:
            cells = [
                f"{'-':>{size}}" if value is None else f"{value:>{size}.{digits}f}"
                for value, size, digits in zip(row[2:6], (9, 7, 9, 7), (4, 4, 4, 3), strict=True)
            ]
            told = f"  {row.failed}" if row.failed else ""
            lines.append(f"{row.method:<{width}}  {row.n_clusters:>4}  " + "  ".join(cells) + told)
        return "\n".join(lines)

    __repr__ = __str__


class _Draw(NamedTuple):
    """Distinct rows of some of the members, which rows of the whole they are made of, and a seed."""

    rows: Ensemble
    kept: NDArray[np.intp]
    inverse: NDArray[np.intp]
    seed: int


def compare(
    labels: Any,
    methods: Sequence[str] = USUAL,
    n_clusters: Any = (2, 9),
    *,
    n_repeats: int = 5,
    random_state: Any = None,
    max_bytes: int = MAX_BYTES,
) -> Comparison:
    """Run several methods for several numbers of clusters on the same labels and score every result.

    Each method is run once on all members for each number of clusters. That labelling is scored by its agreement with
    the members and its density. The run is then repeated on draws of four fifths of the members, the same
    draws for all methods, each with another seed; the mean agreement of these runs with the first is the stability.

    Parameters
    ----------
    labels : Ensemble, or anything `as_ensemble` takes
    methods : sequence of str
        Names in METHODS; by default four whose time is about linear in the number of rows.
    n_clusters : int, range, (lowest, highest) or list of numbers
        Both ends of a pair are included.
    n_repeats : int
        Repeated runs for the stability; 0 leaves it out.
    random_state : None, int, Generator or RandomState
        One seed, one table but for the seconds.
    max_bytes : int
        As for `consensus`.

    Returns
    -------
    Comparison
        Prints as a table; `as_dict`, `to_frame` and ``matrix("agreement")`` for machines, ``result(method, k)`` for the
        consensus itself, `quorate.plot.comparison` for a heat map.

    See Also
    --------
    choose_k : several criteria for the number of clusters of one method.
    over_k : what members with each number of clusters say about that number.

    Notes
    -----
    Read down a column: methods with the same number of clusters can be compared by each value. Read along a row with
    care: agreement leans to the members' own numbers of clusters, and density grows with the number. A method that
    cannot answer stays in the table with the reason. The seconds of the first method include the compilation
    of kernels if nothing was run before; the median over repeated runs leaves it out.

    Examples
    --------
    >>> members = [[0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1, 2, 2]]
    >>> table = compare(members, ["kmeans", "eac"], (2, 3), random_state=0)
    >>> table.matrix("agreement").round(3)
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
    rows, inverse = compress(ensemble)
    seed = int(rng.integers(2**62))
    draws = [_draw(rows, rng) for _ in range(n_draws)]
    found: dict[tuple[str, int], Consensus] = {}
    table = []
    for method in names:
        for k in numbers:
            row, result = _compared(rows, method, k, seed, draws, max_bytes)
            table.append(row)
            if result is not None:
                found[method, k] = result
    return Comparison(tuple(table), ensemble, inverse, found)


def _method_names(methods: Any) -> tuple[str, ...]:
    if isinstance(methods, str) or not isinstance(methods, Sequence) or not len(methods):
        raise TypeError(f"methods must be a list of names such as ['kmeans', 'eac'], got {methods!r}.")
    return tuple(dict.fromkeys(_check.choice(name, "a method", tuple(METHODS)) for name in methods))


def _draw(rows: Ensemble, rng: np.random.Generator) -> _Draw:
    """Some of the members, and the rows that they know."""
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
        return Compared(method, k, None, None, None, None, str(error)), None
    times, scores = [seconds], []
    for draw in draws:
        try:
            other, seconds = _timed(draw.rows, method, k, draw.seed, max_bytes)
        except (ValueError, MemoryError):
            # fewer members tell fewer rows apart: no answer is no agreement
            scores.append(0.0)
            continue
        times.append(seconds)
        both = (result.labels[draw.kept], other.labels[draw.inverse])
        sizes = (result.n_clusters, other.n_clusters)
        scores.append(ari(contingency(*both, *sizes, rows.counts[draw.kept])))
    scored = score_labelling(Labelling(result.labels, np.arange(result.n_clusters)), rows)
    row = Compared(
        method=method,
        n_clusters=k,
        agreement=scored.anmi(),
        density=mean_density_within(scored),
        stability=float(np.mean(scores)) if scores else None,
        seconds=float(np.median(times)),
    )
    return row, result


def _timed(rows: Ensemble, method: str, k: int, seed: int, max_bytes: int) -> tuple[Consensus, float]:
    start = perf_counter()
    result = solve(rows, k, method=method, random_state=seed, max_bytes=max_bytes)
    return result, perf_counter() - start
