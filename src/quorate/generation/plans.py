"""What each member will do, drawn from one seed before any work begins."""

from __future__ import annotations

import secrets
from typing import Any, NamedTuple

import numpy as np

from quorate import _check
from quorate._check import brief
from quorate.generation.bases import Base, as_bases, is_auto
from quorate.generation.columns import draw_views
from quorate.generation.features import Features
from quorate.generation.k_rules import KChoice, choose_k
from quorate.generation.members import Plan
from quorate.generation.row_samples import as_rows, draw_rows

DEFAULT_K = "default"

MOST_MEMBERS = 1_000_000
"""More would only be asked for by mistake, and all members are drawn before any work begins."""
_DATA_DRAWS = 2**32 - 1
"""Place among a seed's children of what belongs to no member."""


class Request(NamedTuple):
    """The options of `generate` that decide what the ensemble is."""

    n_members: int
    k: Any
    base: Any
    rows: Any
    columns: Any


class Plans(NamedTuple):
    """One plan for each member, and how k was chosen, in words: short and with the rule."""

    members: list[Plan]
    title: str
    k: str


def entropy_of(random_state: Any) -> int:
    """A number that stands for `random_state`; the same number, the same ensemble. Fresh where it is None."""
    if random_state is None:
        return secrets.randbits(128)
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return _check.integer(random_state, "random_state", low=0)
    words = _check.generator(random_state).integers(2**32, size=4)
    return int(sum(int(word) << (32 * place) for place, word in enumerate(words)))


def k_towards(k: Any, base: Any, n_clusters: int | None) -> Any:
    """`k` where it is given; else, for a consensus into n_clusters, the rule that suits the base, from that number on.

    A scikit-learn clusterer keeps its own number; clusterers known by a name, as the robust portfolio, have none
    that anybody chose, and make n_clusters.
    """
    if k is not None or n_clusters is None:
        return k
    if not is_auto(base) and any(found.is_clusterer for found in as_bases(base)):
        return n_clusters if isinstance(base, str) else None
    return DEFAULT_K, n_clusters


def base_towards(base: Any, n_clusters: int | None) -> Any:
    """`base`, but k-means members in place of "auto" where the consensus has to find the number of clusters.

    Spectral members have many more clusters than the consensus is to have, and the methods that find the number would
    find too many.
    """
    return "kmeans" if is_auto(base) and n_clusters is None else base


def make_plans(request: Request, features: Features, entropy: int) -> Plans:
    """Every member draws from a child of the seed of its own, so no member depends on who runs it, or when."""
    n_members = _check.integer(request.n_members, "n_members", low=1)
    if n_members > MOST_MEMBERS:
        raise ValueError(f"n_members must be at most {MOST_MEMBERS:,}, got {brief(n_members)}.")
    bases, rows = as_bases(request.base), as_rows(request.rows)
    children = [np.random.SeedSequence(entropy, spawn_key=(place,)) for place in range(n_members)]
    draws, work = zip(*(child.spawn(2) for child in children), strict=True)
    rngs = [np.random.default_rng(seed) for seed in draws]
    choices = _choose(request.k, bases, features, entropy)
    drawn = [_drawn(choices, place % len(bases), rng) for place, rng in enumerate(rngs)]
    packed = draw_rows(rows, features.n_objects, rngs)
    views = draw_views(request.columns, features, rngs)
    plans = [
        Plan(
            number=place,
            base=bases[place % len(bases)],
            k=drawn[place],
            packed=packed[place],
            view=views[place],
            fill=rows.fill,
            seed=work[place],
        )
        for place in range(n_members)
    ]
    _refuse_small(plans, features.n_objects)
    _refuse_parts_of_sequences(plans)
    return Plans(plans, *_told(choices))


def _drawn(choices: list[KChoice | None], base: int, rng: np.random.Generator) -> int | None:
    """A member's k. A base that takes none draws all the same, so that what follows does not depend on it."""
    choice = choices[base] or next((other for other in choices if other is not None), None)
    k = None if choice is None else choice.draw(rng)
    return None if choices[base] is None else k


def _told(choices: list[KChoice | None]) -> tuple[str, str]:
    """How k was chosen, for a progress bar and in full; several bases may have rules of their own."""
    found = dict.fromkeys(choice for choice in choices if choice is not None)
    if not found:
        return "generate", "k is the clusterers' own"
    return ", ".join(map(str, found)), "; ".join(f"{choice} ({choice.rule})" for choice in found)


def _choose(k: Any, bases: list[Base], features: Features, entropy: int) -> list[KChoice | None]:
    """What k means for each base; None where the base takes none."""
    if not any(_wants_k(k, base) for base in bases):
        if k is not None:
            names = ", ".join(dict.fromkeys(base.name for base in bases))
            raise ValueError(f"k = {k!r} was given, but {names} has no parameter for the number of clusters; drop k.")
        return [None] * len(bases)
    wanted = DEFAULT_K if k is None else k
    found: list[KChoice | None] = []
    for base in bases:
        # every base meets the same draws, so that "mixture" finds the same Gaussians for each of them
        rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_DATA_DRAWS,)))
        found.append(choose_k(wanted, features, rng, base.default_rule) if _wants_k(k, base) else None)
    return found


def _wants_k(k: Any, base: Base) -> bool:
    """A clusterer keeps its own number of clusters unless k is given; the built-in and callables need one."""
    return base.takes_k and (k is not None or not base.is_clusterer)


def _refuse_small(plans: list[Plan], n_objects: int) -> None:
    for plan in plans:
        if plan.packed is None or plan.k is None:
            continue
        n_seen = int(np.unpackbits(plan.packed, count=n_objects).sum())
        if n_seen < plan.k:
            raise ValueError(
                f"member {plan.number} sees {n_seen:,} objects and is to make {plan.k:,} clusters of them; "
                f"lower k, or show the members more rows."
            )


def _refuse_parts_of_sequences(plans: list[Plan]) -> None:
    for plan in plans:
        if plan.base.is_sequence and not (plan.packed is None and plan.view.is_whole):
            raise ValueError(
                f"{plan.base.name} makes members that depend on one another, so all of them must see the same rows and "
                f"columns; leave rows and columns at 1.0."
            )
