"""Checks of options; all error messages say what was wanted, what was given, and what to do."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
LONGEST_PASTED = 400
"""The largest number of characters of values in a shell option that an error message suggests."""


def integer(value: Any, name: str, *, low: int, high: int | None = None, advice: str = "") -> int:
    """Return `value` as an int in [low, high]; bools, floats and texts are refused, never rounded."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(
            _message(f"{name} must be an integer, got {brief(value)} of type {type(value).__name__}", advice)
        )
    number = int(value)
    if number < low or (high is not None and number > high):
        wanted = f"at least {low}" if high is None else f"between {low} and {high:,}"
        raise ValueError(_message(f"{name} must be {wanted}, got {number:,}", advice))
    return number


def fraction(value: Any, name: str, *, low: float = 0.0, high: float = 1.0, advice: str = "") -> float:
    """Return `value` as a float in [low, high]."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(_message(f"{name} must be a number, got {brief(value)} of type {type(value).__name__}", advice))
    number = float(value)
    if not low <= number <= high:
        raise ValueError(_message(f"{name} must lie in [{low:g}, {high:g}], got {number:g}", advice))
    return number


def choice(value: Any, name: str, allowed: Collection[T], advice: str = "") -> T:
    """Return `value` if it is one of `allowed`; raise otherwise."""
    for candidate in allowed:
        if isinstance(value, type(candidate)) and value == candidate:
            return candidate
    options = ", ".join(repr(candidate) for candidate in allowed)
    meant = did_you_mean(value, allowed)
    raise ValueError(_message(f"{name} must be one of {options}, got {brief(value)}{meant}", advice))


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, such as "1 row" or "2,000 rows"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def has(number: int) -> str:
    """Return the verb for so many: "1 of 5 objects has", "2 of 5 objects have"."""
    return "has" if number == 1 else "have"


def did_you_mean(value: Any, allowed: Collection[Any]) -> str:
    """Return " (did you mean 'name'?)" with the allowed name closest to a mistyped one; empty if none is close."""
    import difflib

    names = {str(name).lower(): str(name) for name in allowed if isinstance(name, str)}
    near = difflib.get_close_matches(str(value).lower(), names, n=1, cutoff=0.75)
    return f" (did you mean {names[near[0]]!r}?)" if near else ""


def option(name: str, *values: str) -> str:
    """Return a shell option with its values, quoted so that it can be pasted; several values become one list.

    The option is returned alone if the values are too long, or hold control characters that a terminal would act on.
    """
    import csv
    import io
    import shlex

    text = values[0] if values else ""
    if name in ("--columns", "--drop"):
        stream = io.StringIO()
        csv.writer(stream, lineterminator="").writerow(values)
        text = stream.getvalue()
    if not text.isprintable() or len(text) > LONGEST_PASTED:
        return name
    quoted = shlex.quote(text)
    return f"{name}={quoted}" if text.startswith("-") else f"{name} {quoted}"


def generator(random_state: Any) -> np.random.Generator:
    """Return a generator for None, an int, a SeedSequence, a Generator or a RandomState; never the global one."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if random_state is None or isinstance(random_state, np.random.Generator | np.random.SeedSequence):
        return np.random.default_rng(random_state)
    return np.random.default_rng(integer(random_state, "random_state", low=0))


def known_seed(random_state: Any) -> int | None:
    """Return a seed that gives the same results again: the given integer, or a new one if `random_state` is None.

    None is returned for a generator, whose seed is unknown.
    """
    if random_state is None:
        drawn = np.random.SeedSequence().entropy
        return drawn if isinstance(drawn, int) else None
    is_number = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool | np.bool_)
    return int(random_state) if is_number else None


def n_bytes(value: Any, name: str = "max_bytes") -> int:
    """Return `value` as a number of bytes; floats such as 8e9 are accepted, infinity is not."""
    number = fraction(value, name, high=math.inf, advice="for example 8e9.")
    if not 1 <= number < math.inf:
        raise ValueError(f"{name} must be a number of bytes above 0, got {brief(value)}; for example 8e9.")
    return int(number)


def memory(needed: int, max_bytes: int, what: str, advice: str) -> None:
    """Raise if work would need more than `max_bytes`; called before it allocates memory."""
    if needed > max_bytes:
        raise MemoryError(
            f"{what} would need {size(needed)}, more than max_bytes = {size(max_bytes)}; {advice} or raise max_bytes."
        )


def duration(seconds: float) -> str:
    """Return seconds as a short text with a unit."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def no_anndata(value: Any, name: str) -> None:
    """Raise if the value is an AnnData object, which holds many tables, and advise which of them to pass."""
    if all(hasattr(value, part) for part in ("obs", "var", "obsm", "X")):
        raise TypeError(
            f"{name} must be a table, got an AnnData object; pass measurements such as adata.obsm['X_pca'] to cluster "
            f"cells, or use quorate.anndata.consensus_anndata(adata, keys) for clusterings in adata.obs."
        )


def size(n_bytes: int) -> str:
    """Return a number of bytes as a short text with a unit."""
    amount = float(n_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} TB"


def no_mask(value: Any, name: str) -> None:
    """Raise if the value is a masked array with masked values, because what lies under a mask is not meant."""
    n_masked = int(np.ma.getmaskarray(value).sum()) if isinstance(value, np.ma.MaskedArray) else 0
    if n_masked:
        raise ValueError(
            f"{name} has {counted(n_masked, 'masked value')}; fill them in, or leave the objects or columns out."
        )


def brief(value: Any, *, most: int = 80, quoted: bool = True) -> str:
    """Return a value as one short line for an error message, without control characters."""
    text = repr(value) if quoted else "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))
    return text if len(text) <= most else f"{text[: most - 20]} ... {text[-10:]}"


def places(wanted: Iterable[str], names: Sequence[str]) -> list[int]:
    """The places of the wanted names among all names, in linear time; each must be there, the first counts."""
    first = {name: place for place, name in reversed(list(enumerate(names)))}
    return [first[name] for name in wanted]


def _message(problem: str, advice: str) -> str:
    return f"{problem}; {advice}" if advice else f"{problem}."
