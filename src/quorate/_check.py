"""The few helpers that word every option error alike: what was wanted, what came, what to do."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
LONGEST_PASTED = 400
"""Characters of values that are suggested for pasting."""


def integer(value: Any, name: str, *, low: int, high: int | None = None, advice: str = "") -> int:
    """`value` as an int in [low, high]; bools, floats and text are refused, never rounded."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(_tell(f"{name} must be an integer, got {brief(value)} of type {type(value).__name__}", advice))
    number = int(value)
    if number < low or (high is not None and number > high):
        wanted = f"at least {low}" if high is None else f"between {low} and {high:,}"
        raise ValueError(_tell(f"{name} must be {wanted}, got {number:,}", advice))
    return number


def fraction(value: Any, name: str, *, low: float = 0.0, high: float = 1.0, advice: str = "") -> float:
    """`value` as a float in [low, high]."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(_tell(f"{name} must be a number, got {brief(value)} of type {type(value).__name__}", advice))
    number = float(value)
    if not low <= number <= high:
        raise ValueError(_tell(f"{name} must lie in [{low:g}, {high:g}], got {number:g}", advice))
    return number


def choice(value: Any, name: str, allowed: Collection[T], advice: str = "") -> T:
    """`value` if it is one of `allowed`."""
    for candidate in allowed:
        if isinstance(value, type(candidate)) and value == candidate:
            return candidate
    options = ", ".join(repr(candidate) for candidate in allowed)
    meant = did_you_mean(value, allowed)
    raise ValueError(_tell(f"{name} must be one of {options}, got {brief(value)}{meant}", advice))


def did_you_mean(value: Any, allowed: Collection[Any]) -> str:
    """The name that a mistyped one is most like, as words that follow it; empty where none is near."""
    import difflib

    names = {str(name).lower(): str(name) for name in allowed if isinstance(name, str)}
    near = difflib.get_close_matches(str(value).lower(), names, n=1, cutoff=0.75)
    return f" (did you mean {names[near[0]]!r}?)" if near else ""


def option(name: str, *values: str) -> str:
    """An option of the shell with its values, quoted so that it can be pasted; several values as one list.

    The option alone where the values are too long, or hold characters that a terminal would obey.
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
    """A local generator from None, an int, a SeedSequence, a Generator or a RandomState; never the global one."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if random_state is None or isinstance(random_state, np.random.Generator | np.random.SeedSequence):
        return np.random.default_rng(random_state)
    return np.random.default_rng(integer(random_state, "random_state", low=0))


def known_seed(random_state: Any) -> int | None:
    """The seed that gives the same generator again: the one given, or a new one for None; None for a generator."""
    if random_state is None:
        drawn = np.random.SeedSequence().entropy
        return drawn if isinstance(drawn, int) else None
    is_number = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool | np.bool_)
    return int(random_state) if is_number else None


def n_bytes(value: Any, name: str = "max_bytes") -> int:
    """`value` as a number of bytes; 8e9 will do, infinity will not."""
    number = fraction(value, name, high=math.inf, advice="for example 8e9.")
    if not 1 <= number < math.inf:
        raise ValueError(f"{name} must be a number of bytes above 0, got {brief(value)}; for example 8e9.")
    return int(number)


def memory(needed: int, max_bytes: int, what: str, advice: str) -> None:
    """Refuse work before it allocates more than `max_bytes`."""
    if needed > max_bytes:
        raise MemoryError(
            f"{what} would need {size(needed)}, more than max_bytes = {size(max_bytes)}; {advice} or raise max_bytes."
        )


def duration(seconds: float) -> str:
    """Seconds for people."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def no_anndata(value: Any, name: str) -> None:
    """Refuse an AnnData object, which holds many tables, and say which to pass."""
    if all(hasattr(value, part) for part in ("obs", "var", "obsm", "X")):
        raise TypeError(
            f"{name} must be a table, got an AnnData object; pass measurements such as adata.obsm['X_pca'] to cluster "
            f"cells, or use quorate.anndata.consensus_anndata(adata, keys) for clusterings in adata.obs."
        )


def size(n_bytes: int) -> str:
    """Bytes for people."""
    amount = float(n_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} TB"


def brief(value: Any, *, most: int = 80, quoted: bool = True) -> str:
    """A value from a file or a caller in one short line, without a character that a terminal would obey."""
    text = repr(value) if quoted else "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))
    return text if len(text) <= most else f"{text[: most - 20]} ... {text[-10:]}"


def _tell(problem: str, advice: str) -> str:
    return f"{problem}; {advice}" if advice else f"{problem}."
