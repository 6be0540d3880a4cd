"""The rule which values stand for a missing label."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

DEFAULT: Any = -1
"""The value that stands for a missing label, beside nulls, unless the user passes others."""


@dataclass(frozen=True)
class MissingRule:
    """Which values are missing labels: nulls and `values`. Other negative integers are refused.

    If `values` is empty, every value that is not null is a label, also if it is negative.
    """

    values: tuple[Any, ...]

    @property
    def integers(self) -> tuple[int, ...]:
        """The values that an int64 table can hold."""
        whole = [int(v) for v in self.values if isinstance(v, int) or (_is_number(v) and float(v).is_integer())]
        return tuple(v for v in whole if -(2**63) <= v < 2**63)

    def covers(self, value: Any) -> bool:
        if is_null(value):
            return True
        if _is_number(value):
            return any(_is_number(v) and v == value for v in self.values)
        return any(isinstance(v, str) and v == value for v in self.values)

    def covers_text(self, text: str) -> bool:
        """Whether a cell of a text file is missing; cells have no type, so that '0' matches a text and a number."""
        if text == "" or text in self.values:
            return True
        number = as_number(text)
        return number is not None and self.covers(number)

    def refuse_negative(self, categories: Iterable[Any], member: str) -> None:
        """Raise if a label is a negative number, unless `values` is empty, which allows such labels."""
        if not self.values:
            return
        negative = [value for value in categories if _is_number(value) and value < 0]
        measured = next((value for value in negative if not float(value).is_integer()), None)
        if measured is not None:
            raise ValueError(
                f"Negative values in data: {member} holds {measured}, which is a measurement and not a label; cluster "
                f"measurements with quorate.generate (quorate cluster FILE), or leave the column out (--drop)."
            )
        for value in negative[:1]:
            raise ValueError(
                f"Negative values in data: {member} holds the label {value}, and {self._wording()}; pass "
                f"missing=[{value}] (--missing={value}) if it means 'no label', missing=[] if negative numbers are "
                f"ordinary labels."
            )

    def _wording(self) -> str:
        if self.values == (-1,):
            return "of the negative numbers only -1 (missing) is expected"
        return f"only {list(self.values)} and nulls were declared missing"


def missing_rule(missing: Any) -> MissingRule:
    """Return the rule for the user's option `missing`, which is one value or several."""
    if isinstance(missing, MissingRule):
        return missing
    if missing is None or isinstance(missing, str | bytes) or not isinstance(missing, Iterable):
        missing = [missing]
    values = tuple(v.item() if isinstance(v, np.generic) else v for v in missing)
    for value in values:
        if not (is_null(value) or isinstance(value, str) or _is_number(value)):
            raise TypeError(f"missing must be a number, a text or a list of them, got {value!r}.")
    if values and all(is_null(value) for value in values):
        return MissingRule((-1,))
    return MissingRule(tuple(value for value in values if not is_null(value)))


def is_null(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def as_number(text: str) -> int | float | None:
    """Return the number that a text stands for, as an integer if possible; None if the text is not a number."""
    if "_" in text:  # Python reads 1_2 as 12, but in a table 1_2 and 12 are two labels
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    if 2**53 <= abs(number) < 2**63:
        # float64 has rounded it already, perhaps to another label
        exact = Fraction(text.strip())
        return int(exact) if exact.denominator == 1 else number
    return int(number) if number.is_integer() else number


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
