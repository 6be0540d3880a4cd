"""Labels that are written as texts: which of them are missing, and whether all of them are numbers."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.coding import drop_missing, narrowest
from quorate._data.missing import MissingRule, as_number

Array = NDArray[Any]
_NULL_WORDS = frozenset({"na", "n/a", "#n/a", "<na>", "nan", "null", "none"})


def label_column(codes: Array, texts: list[str], name: str, rule: MissingRule) -> tuple[Array, Array]:
    """Return the codes and categories of a column of texts.

    Missing labels are taken out, and the labels become numbers if all of them are written as numbers.
    """
    missing = [rule.covers_text(text) or rule.covers_text(text.strip()) for text in texts]
    values = _as_numbers(texts, missing, name)
    if values is None:
        warn_of_nulls(texts, missing, name)
        values = list(texts)
    merged: dict[Any, int] = {}
    # texts for the same number are one label; all missing ones share a key that no label has
    place = [
        merged.setdefault(("missing",) if gone else v, len(merged)) for v, gone in zip(values, missing, strict=True)
    ]
    if len(merged) < len(values):
        codes = np.asarray(place)[codes]
    gone = [value == ("missing",) for value in merged]
    kept, categories = drop_missing(codes, list(merged), gone, f"column {name!r}", rule)
    return kept.astype(narrowest(len(categories)), copy=False), categories


def _as_numbers(texts: list[str], missing: list[bool], name: str) -> list[Any] | None:
    """Return the numbers that the texts stand for, None for a missing one; None instead if a text is not a number."""
    numbers: list[Any] = []
    for text, gone in zip(texts, missing, strict=True):
        # int('1_2') is 12 in Python, but in a table 1_2 is a name
        number = None if gone else as_number(text)
        if not gone and (number is None or (isinstance(number, int) and abs(number) >= 2**63)):
            return None
        if isinstance(number, float) and math.isinf(number):
            raise ValueError(
                f"column {name!r} holds the infinite label {text!r}; declare it with missing=, or clean the table."
            )
        numbers.append(number)
    # a float holds no integer beyond 2^53 exactly, and two labels must not become one: such numbers stay as they are
    exact = all(not isinstance(number, int) or float(number) == number for number in numbers)
    if exact and any(isinstance(number, float) for number in numbers):
        return [None if number is None else float(number) for number in numbers]
    return numbers


def warn_of_nulls(values: list[Any], missing: list[bool], name: str) -> None:
    """Warn if a label is a text, such as NA, that often means that there is no label."""
    for text, gone in zip(values, missing, strict=True):
        if not gone and isinstance(text, str) and text.strip().lower() in _NULL_WORDS:
            warnings.warn(
                f"column {name!r} holds the text {text!r} as a label; pass missing=[-1, {text!r}] "
                f"({_check.option('--missing', text)}) if it means no label.",
                UserWarning,
                stacklevel=2,
            )
