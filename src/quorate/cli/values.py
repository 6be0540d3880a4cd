"""Turning texts from the command line into Python values; errors say what was wanted if a text does not fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def integer(text: str, option: str) -> int:
    """Return `text` as an integer; the error message names `option`."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{option} must be an integer, got {text!r}") from None


def number(text: str, option: str, *, wanted: str = "a number") -> float:
    """Return `text` as a finite number; the error message says that `option` must be what is `wanted`."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{option} must be {wanted}, got {text!r}")
    return value


def numbers(text: str, option: str) -> list[float]:
    """Return numbers that are separated by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{option} must be numbers separated by commas, got {text!r}") from None


def weights(text: str, option: str) -> list[float] | dict[str, float]:
    """Return numbers that are separated by commas, or a dictionary if they have the form NAME=NUMBER."""
    if "=" not in text:
        return numbers(text, option)
    by_name: dict[str, float] = {}
    for pair in names(text):
        name, _, value = pair.rpartition("=")
        if not name or name in by_name:
            raise ValueError(f"{option} must be numbers, or NAME=NUMBER for each name once, got {pair!r}")
        by_name[name] = number(value, f"{option} {name}")
    return by_name


def n_bytes(text: str, option: str) -> int:
    """Return a number of bytes from texts such as 8e9, 8GB, 1.5 GB or 512MiB."""
    import re

    wanted = "a number of bytes such as 8e9 or 8GB"
    parts = re.fullmatch(r"\s*([^a-zA-Z\s].*?)\s*([kKmMgGtT]i?[bB]|[bB])?\s*", text)
    amount, unit = (parts.group(1), parts.group(2) or "") if parts else (text, "")
    base = 1024 if "i" in unit else 1000
    power = "bkmgt".index(unit[0].lower()) if unit else 0
    return int(number(amount, option, wanted=wanted) * base**power)


def names(text: str) -> list[str]:
    """Return names that are separated by commas; a name with a comma is put in double quotes, as in a CSV file."""
    import csv

    try:
        return next(csv.reader([text], strict=True))
    except csv.Error as error:
        raise ValueError(f"column names must be separated by commas, got {text!r}: {error}") from None


def number_of_clusters(text: str | None) -> int | str | tuple[int, int] | None:
    """Return `n_clusters` of `quorate.consensus`: a number, "auto", or the two ends of a range such as 2:20."""
    if text is None or text == "auto":
        return text
    low, colon, high = text.partition(":")
    try:
        return (int(low), int(high)) if colon else int(low)
    except ValueError:
        raise ValueError(f"-k must be an integer, auto, or a range such as 2:20, got {text!r}") from None


def member_k(text: str | None) -> Any:
    """Return `k` of `quorate.generate`: a number, a range such as 10:40, or a rule with or without numbers."""
    if text is None:
        return None
    parts = [python_value(part) for part in text.split(":")]
    return parts[0] if len(parts) == 1 else tuple(parts)


def named_values(pairs: Sequence[str], option: str) -> dict[str, Any]:
    """Return a dictionary from texts of the form NAME=VALUE."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not (name and equals):
            raise ValueError(f"{option} must be NAME=VALUE, got {pair!r}")
        values[name] = python_value(text)
    return values


def python_value(text: str) -> Any:
    """Return an integer, a float, True, False or None if `text` is one, in upper or lower case; otherwise the text."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
