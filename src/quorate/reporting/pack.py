"""Numbers and texts small and safe enough to lie inside a page."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

# what could end a script element or a line of JavaScript, as escapes that JSON knows
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_KINDS = (np.uint8, np.uint16, np.uint32)


def as_json(value: Any) -> str:
    """JSON that is safe inside a script element, whatever texts are in it; NaN and infinity become null."""
    text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # a lone half of a surrogate pair, which a page cannot hold, becomes a question mark
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
    """Integers from 0 on in as few bytes as they need, deflated: little-endian, as report.js reads them."""
    flat = np.ascontiguousarray(values).reshape(-1)
    most = int(flat.max(initial=0))
    kind = next(kind for kind in _KINDS if most <= np.iinfo(kind).max)
    data = flat.astype(np.dtype(kind).newbyteorder("<")).tobytes()
    return {"bytes": np.dtype(kind).itemsize, "deflated": _deflated(data)}


def packed_shares(values: NDArray[np.float64]) -> dict[str, Any]:
    """Numbers from 0 to 1 in steps of 1/250, 255 where there is none; 0.004 is finer than a shade can show."""
    levels = np.where(np.isfinite(values), np.rint(np.nan_to_num(values) * 250), 255)
    return packed(levels.astype(np.int64))


def packed_texts(texts: list[str]) -> dict[str, Any]:
    """A list of texts as deflated JSON: ids may hold anything, line ends included."""
    data = json.dumps(texts, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return {"texts": _deflated(data)}


def packed_ids(ids: NDArray[Any]) -> dict[str, Any]:
    """Ids in the shortest of two ways: whole numbers by their differences, all else as texts."""
    whole = _whole_numbers(ids)
    if whole is None:
        return packed_texts([str(value) for value in ids.tolist()])
    steps = np.diff(whole, prepend=0)
    # zigzag, so that a step back is a small number too
    zigzag = np.where(steps < 0, -2 * steps - 1, 2 * steps)
    return packed_texts([]) if not len(ids) else {**packed(zigzag), "steps": True}


def _whole_numbers(ids: NDArray[Any]) -> NDArray[np.int64] | None:
    """Ids as numbers, where writing these gives the ids back and steps between them fit into 32 bits."""
    texts = [str(value) for value in ids.tolist()]
    if not all(text.lstrip("-").isdecimal() and len(text) <= 10 and text.isascii() for text in texts):
        return None
    numbers = np.array([int(text) for text in texts], dtype=np.int64)
    alike = all(str(number) == text for number, text in zip(numbers.tolist(), texts, strict=True))
    return numbers if alike and int(np.abs(numbers).max(initial=0)) < 2**29 else None


def _deflated(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 6)).decode("ascii")


def size_of(entry: dict[str, Any]) -> int:
    """Characters an entry takes in the page."""
    return sum(len(value) for value in entry.values() if isinstance(value, str))
