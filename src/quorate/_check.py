"""The few helpers that word every option error alike: what was wanted, what came, what to do."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


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
    raise ValueError(_tell(f"{name} must be one of {options}, got {brief(value)}", advice))


def generator(random_state: Any) -> np.random.Generator:
    """A local generator from None, an int, a SeedSequence, a Generator or a RandomState; never the global one."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if random_state is None or isinstance(random_state, np.random.Generator | np.random.SeedSequence):
        return np.random.default_rng(random_state)
    return np.random.default_rng(integer(random_state, "random_state", low=0))


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
