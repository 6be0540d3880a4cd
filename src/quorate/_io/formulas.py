"""Cells of text files that a spreadsheet would take for formulas, and the apostrophe that makes them plain texts."""

from __future__ import annotations

import re
from typing import Any

from quorate import _check

_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def checked_formulas(value: Any) -> bool:
    """Return whether formulas are to be quoted; raise if the option is neither "keep" nor "quote"."""
    advice = "'quote' puts an apostrophe before cells that a spreadsheet would take for a formula."
    return _check.choice(value, "formulas", ("keep", "quote"), advice) == "quote"


def quoted(text: str) -> str:
    """Put an apostrophe before a text that begins like a formula and is not a number.

    Texts that begin with apostrophes and then like a formula get one more, so that `unquoted` gives every text back.
    The script of the report does the same in its download.
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unquoted(text: str) -> str:
    """Take away the apostrophe that `quoted` has put before a text."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
