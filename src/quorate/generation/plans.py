"""The plans of all members, drawn from one seed before any work begins."""

from __future__ import annotations

import secrets
from typing import Any, NamedTuple

import numpy as np

from quorate import _check
from quorate._check import brief
from quorate.generation.bases import Base, as_bases, is_auto
from quorate.generation.features import Features
from quorate.generation.k_rules import KChoice, numbers_by_rule
from quorate.generation.members import Plan
from quorate.generation.sampling import Share, as_rows, draw_rows, draw_views

DEFAULT_K = "default"

MOST_MEMBERS = 1_000_000
"""The largest number of members; more are surely a mistake, and all plans are drawn before any work begins."""
_DATA_DRAWS = 2**32 - 1
"""The key of the child of the seed for draws that belong to no member."""


class Request(NamedTuple):
    """The options of `generate` that determine the ensemble."""

    n_members: int
    k: Any = None
    base: Any = "auto"
    rows: Any = 1.0
    columns: Any = 1.0

    def towards(self, n_clusters: int | None) -> Request:
        """Return the request for members whose consensus is to have n_clusters clusters; None: it finds the number."""
        # towards one cluster members are made as towards two, because members of one cluster say nothing
        number = None if n_clusters is None else max(n_clusters, 2)
        return self._replace(k=k_towards(self.k, self.base, number), base=base_towards(self.base, number))


class Plans(NamedTuple):
    """One plan per member, and two texts about k: a short one for a progress bar, and one with the rule."""

    members: list[Plan]
    title: str
    k: str


def entropy_of(random_state: Any) -> int:
    """Return a number that stands for `random_state` and gives the same ensemble again; a new one for None."""
    if random_state is None:
        return secrets.randbits(128)
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return _check.integer(random_state, "random_state", low=0)
    words = _check.generator(random_state).integers(2**32, size=4)
    return int(sum(int(word) << (32 * place) for place, word in enumerate(words)))


def k_towards(k: Any, base: Any, n_clusters: int | None) -> Any:
    """Return the option `k` for members whose consensus is to have n_clusters clusters.

    If `k` is given, it is returned. Otherwise it is the rule that suits the base, starting from n_clusters. A
    scikit-learn clusterer keeps its own number of clusters. The clusterers behind a name in BASES, such as the robust
    portfolio, have no number that the user chose, and make n_clusters clusters.
    """
    if k is not None or n_clusters is None:
        return k
    if not is_auto(base) and any(part.is_clusterer for part in as_bases(base)):
        return n_clusters if isinstance(base, str) else None
    return DEFAULT_K, n_clusters


def base_towards(base: Any, n_clusters: int | None) -> Any:
    """Return `base`, but "kmeans" instead of "auto" if the consensus has to find the number of clusters.

    Spectral members have many more clusters than the consensus should have, so that methods that find the number of
    clusters would find too many.
    """
    return "kmeans" if is_auto(base) and n_clusters is None else base


def make_plans(request: Request, features: Features, entropy: int) -> Plans:
    """Draw the plans of all members.

    Every member has a child of the seed of its own, so that it does not depend on the worker or the order of the runs.
    """
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
            shuffle=isinstance(rows, Share) and rows.shuffle,
        )
        for place in range(n_members)
    ]
    _refuse_small(plans, features.n_objects)
    _refuse_parts_of_sequences(plans)
    return Plans(plans, *_descriptions(choices))


def _drawn(choices: list[KChoice | None], base: int, rng: np.random.Generator) -> int | None:
    """Draw a member's k. For a base without k it is drawn as well, so that later draws do not depend on the base."""
    choice = choices[base] or next((other for other in choices if other is not None), None)
    k = None if choice is None else choice.draw(rng)
    return None if choices[base] is None else k


def _descriptions(choices: list[KChoice | None]) -> tuple[str, str]:
    """Describe how k was chosen, briefly for a progress bar and in full; bases may have different rules."""
    distinct = dict.fromkeys(choice for choice in choices if choice is not None)
    if not distinct:
        return "generate", "k is the clusterers' own"
    return ", ".join(map(str, distinct)), "; ".join(f"{choice} ({choice.rule})" for choice in distinct)


def _choose(k: Any, bases: list[Base], features: Features, entropy: int) -> list[KChoice | None]:
    """Return what the option `k` means for each base; None for a base that takes no k."""
    if not any(_wants_k(k, base) for base in bases):
        if k is not None:
            names = ", ".join(dict.fromkeys(base.name for base in bases))
            raise ValueError(f"k = {k!r} was given, but {names} has no parameter for the number of clusters; drop k.")
        return [None] * len(bases)
    wanted = DEFAULT_K if k is None else k
    choices: list[KChoice | None] = []
    for base in bases:
        # every base uses the same draws, so that the rule "mixture" finds the same Gaussians for all of them
        rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_DATA_DRAWS,)))
        choices.append(numbers_by_rule(wanted, features, rng, base.default_rule) if _wants_k(k, base) else None)
    return choices


def _wants_k(k: Any, base: Base) -> bool:
    """Whether the base needs a k: a clusterer keeps its own number unless k is given, all other bases need one."""
    return base.takes_k and (k is not None or not base.is_clusterer)


def _refuse_small(plans: list[Plan], n_objects: int) -> None:
    for plan in plans:
        if plan.packed is None or plan.k is None:
            continue
        n_seen = int(np.unpackbits(plan.packed, count=n_objects).sum())
        if n_seen < plan.k:
            raise ValueError(
                f"member {plan.number} gets {_check.counted(n_seen, 'object')}, too few for "
                f"{_check.counted(plan.k, 'cluster')}; lower k, or give the members more rows."
            )


def _refuse_parts_of_sequences(plans: list[Plan]) -> None:
    for plan in plans:
        if plan.base.is_sequence and not (plan.packed is None and plan.view.is_whole):
            raise ValueError(
                f"{plan.base.name} makes members that depend on one another, so all of them must get the same rows and "
                f"columns; leave rows and columns at 1.0."
            )
