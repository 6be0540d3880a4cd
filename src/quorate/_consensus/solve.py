"""solve: consensus without its two ends, on rows that are compressed or coarsened already."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from quorate import _check
from quorate._consensus.auto import AUTO, DEFAULT_METHOD, resolve
from quorate._consensus.choose_k import Asked, Numbers, candidates, choose
from quorate._consensus.confidence import with_confidence
from quorate._consensus.procedure import Procedure
from quorate._consensus.run_method import MAX_BYTES, checked_options, run_method
from quorate._data.proof import proven
from quorate._types import AnyEnsemble, Consensus, SoftEnsemble
from quorate.methods import METHODS

HARDEN = "Or pass quorate.harden(members): the labels of the likeliest clusters."
"""The advice that ends every refusal of soft members."""


def solve(
    ensemble: AnyEnsemble,
    n_clusters: Numbers = None,
    *,
    method: str = DEFAULT_METHOD,
    random_state: Any = None,
    max_bytes: int = MAX_BYTES,
    refine: bool = False,
    confidence: bool = True,
    **options: Any,
) -> Consensus:
    """Run a method on the rows of a compressed or coarsened ensemble; labels and confidence are those of rows.

    First "auto" is replaced by a named method, then options and the number of clusters are checked, then the method
    runs: once, or once for each number of clusters if these are to be compared.

    Parameters
    ----------
    ensemble : Ensemble or SoftEnsemble
        Rows are expected to be distinct, as `compress` and `merge` leave them.
    n_clusters, method, random_state, max_bytes, refine, confidence, **options
        As in `consensus`.

    Returns
    -------
    Consensus
        One label per row; ``result.labels[inverse]`` are the labels of the objects.

    See Also
    --------
    consensus : the same from any label table, with labels of objects.
    compress, merge : where distinct rows come from.

    Examples
    --------
    >>> from quorate import as_ensemble, compress
    >>> rows, inverse = compress(as_ensemble([[0, 0, 1, 1], [0, 0, 1, 1]]))
    >>> solve(rows, 2).labels[inverse].tolist()
    [0, 0, 1, 1]
    """
    proven(ensemble)
    max_bytes = _check.n_bytes(max_bytes)
    name, reason = resolve(method, ensemble, n_clusters, max_bytes, options)
    options = checked_options(name, options)
    _check.choice(refine, "refine", (True, False))
    _check.choice(confidence, "confidence", (True, False))
    if n_clusters is None and not (method == name and METHODS[name].finds_k):
        # only a method that finds the number itself, and that was asked for by name, is left to find it
        n_clusters = AUTO
    wanted = candidates(n_clusters, ensemble)
    told: dict[str, Any] = {"auto": reason} if reason else {}
    shared: dict[str, Any] = {"random_state": random_state, "max_bytes": max_bytes, "refine": refine}
    if isinstance(ensemble, SoftEnsemble):
        _refuse_soft(name, wanted is not None, refine)
    if ensemble.card is not None and (wanted is not None or refine or METHODS[name].combines):
        ensemble = ensemble.on_host()
        why = "numbers of clusters are compared" if wanted is not None else "several methods or single moves are tried"
        told["device"] = f"the processor: {why}, on rows that the card compressed"
    if wanted is None or isinstance(ensemble, SoftEnsemble):
        result = run_method(ensemble, n_clusters, name, options=options, **shared)
    else:
        asked = Asked(wanted, name, options, is_open=isinstance(n_clusters, str))
        told["choice"], result = choose(ensemble, asked, **shared)
    result = replace(result, info={**result.info, **told})
    if not confidence:
        return replace(result, confidence=None)
    # confidence has a seed in any case, so that a deterministic method without a seed stays deterministic
    seed = 0 if random_state is None else abs(_check.known_seed(random_state) or 0)
    procedure = Procedure(name, result.n_clusters, refine, seed, is_known=True, options=options, max_bytes=max_bytes)
    return with_confidence(ensemble, result, procedure)


def _refuse_soft(method: str, chooses: bool, refine: bool) -> None:
    if not METHODS[method].soft:
        taking = ", ".join(name for name, entry in METHODS.items() if entry.soft)
        raise ValueError(f"method {method!r} takes labels alone; methods that take soft members: {taking}. {HARDEN}")
    if chooses:
        raise ValueError(f"n_clusters must be a number with soft members: criteria for it compare labels. {HARDEN}")
    if refine:
        raise ValueError(f"refine must be False with soft members: it raises the ANMI with labels. {HARDEN}")
