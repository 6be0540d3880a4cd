"""Numbers and texts encoded so that they are small and can safely be part of a page."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Characters that could end a script element or a line of JavaScript, and their escapes in JSON.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_KINDS = (np.uint8, np.uint16, np.uint32)


def as_json(value: Any) -> str:
    """Return JSON that is safe inside a script element, whatever texts it contains; NaN and infinity become null."""
    text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A lone half of a surrogate pair, which a page cannot contain, becomes a question mark.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text.translate(_ESCAPES)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return round(value, 6) if abs(value) < float("inf") else None
    return value


def packed(values: NDArray[Any]) -> dict[str, Any]:
    """Encode integers from 0 on in as few bytes as they need, deflated and little-endian, as report.js reads them."""
    flat = np.ascontiguousarray(values).reshape(-1)
    most = int(flat.max(initial=0))
    kind = next(kind for kind in _KINDS if most <= np.iinfo(kind).max)
    data = flat.astype(np.dtype(kind).newbyteorder("<")).tobytes()
    return {"bytes": np.dtype(kind).itemsize, "deflated": _deflated(data)}


def packed_shares(values: NDArray[np.float64]) -> dict[str, Any]:
    """Encode numbers from 0 to 1 in steps of 1/250, and 255 for no number; 0.004 is finer than a shade can show."""
    levels = np.where(np.isfinite(values), np.rint(np.nan_to_num(values) * 250), 255)
    return packed(levels.astype(np.int64))


def packed_texts(texts: list[str]) -> dict[str, Any]:
    """Encode a list of texts as deflated JSON, because ids may contain anything, even line breaks."""
    data = json.dumps(texts, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return {"texts": _deflated(data)}


def packed_ids(ids: NDArray[Any]) -> dict[str, Any]:
    """Encode ids in the shorter of two ways: integers by their differences, everything else as texts."""
    whole = _whole_numbers(ids)
    if whole is None:
        return packed_texts([str(value) for value in ids.tolist()])
    steps = np.diff(whole, prepend=0)
    # Zigzag coding makes a negative step a small number too.
    zigzag = np.where(steps < 0, -2 * steps - 1, 2 * steps)
    return packed_texts([]) if not len(ids) else {**packed(zigzag), "steps": True}


def _whole_numbers(ids: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return ids as integers, or None if that is not possible.

    It is possible if writing the integers gives the same ids and the steps between them fit into 32 bits.
    """
    texts = [str(value) for value in ids.tolist()]
    if not all(text.lstrip("-").isdecimal() and len(text) <= 10 and text.isascii() for text in texts):
        return None
    numbers = np.array([int(text) for text in texts], dtype=np.int64)
    alike = all(str(number) == text for number, text in zip(numbers.tolist(), texts, strict=True))
    return numbers if alike and int(np.abs(numbers).max(initial=0)) < 2**29 else None


def _deflated(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 6)).decode("ascii")


def size_of(entry: dict[str, Any]) -> int:
    """Return the number of characters that an entry takes in the page."""
    return sum(len(value) for value in entry.values() if isinstance(value, str))
