"""Random changes of good files: of their bytes, and of what they hold inside archives and stores."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable

import numpy as np

Rng = np.random.Generator
NUMBERS = (
    b"0",
    b"-1",
    b"1",
    b"255",
    b"65536",
    b"2147483648",
    b"4294967296",
    b"9223372036854775808",
    b"1e309",
    b"nan",
    b"",
)
TEXTS = (
    b"\x00",
    b'"',
    b"\n",
    b"\r\n",
    b",",
    b";",
    b"\t",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xf0\x9f\xa6\x86",
    b"\x1b[2J",
    b"'",
    b"=",
)
BYTES = (0x00, 0x01, 0x7F, 0x80, 0xFF)


def mutated(content: bytes, kind: str, rng: Rng) -> bytes:
    """Return a changed content; `kind` is the suffix of the file, which says what is inside it.

    In one of two cases what is inside an archive is changed, and packed again with a right checksum, so that the
    readers of the inner format meet the change as well.
    """
    if kind in _INSIDE and rng.random() < 0.5:
        try:
            return _INSIDE[kind](content, rng)
        except (OSError, EOFError, zipfile.BadZipFile):
            return content
    for _ in range(int(rng.integers(1, 4))):
        content = _CHANGES[int(rng.integers(len(_CHANGES)))](content, rng)
    return content


def _place(content: bytes, rng: Rng) -> int:
    """Return a place; one of three times within the first 128 bytes, where formats keep what they rely on."""
    limit = min(len(content), 128) if rng.random() < 1 / 3 else len(content)
    return int(rng.integers(limit)) if limit else 0


def _flip_bit(content: bytes, rng: Rng) -> bytes:
    at = _place(content, rng)
    return content[:at] + bytes([content[at] ^ (1 << int(rng.integers(8)))]) + content[at + 1 :] if content else b"\x01"


def _set_byte(content: bytes, rng: Rng) -> bytes:
    at = _place(content, rng)
    return content[:at] + bytes([BYTES[int(rng.integers(len(BYTES)))]]) + content[at + 1 :]


def _set_word(content: bytes, rng: Rng) -> bytes:
    """Overwrite four or eight bytes, as a length or an offset has, by an extreme number."""
    at, width = _place(content, rng), int(rng.choice([2, 4, 8]))
    value = int(rng.choice([0, 1, 2**15, 2**16 - 1])) if width == 2 else int(rng.choice([0, 1, 2**31 - 1, 2**32 - 1]))
    return content[:at] + value.to_bytes(width, "little") + content[at + width :]


def _cut(content: bytes, rng: Rng) -> bytes:
    return content[: _place(content, rng)]


def _delete(content: bytes, rng: Rng) -> bytes:
    at = _place(content, rng)
    return content[:at] + content[at + int(rng.integers(1, 33)) :]


def _repeat(content: bytes, rng: Rng) -> bytes:
    at, length = _place(content, rng), int(rng.integers(1, 65))
    return content[:at] + content[at : at + length] * int(rng.integers(2, 5)) + content[at + length :]


def _insert(content: bytes, rng: Rng) -> bytes:
    at = _place(content, rng)
    return content[:at] + TEXTS[int(rng.integers(len(TEXTS)))] + content[at:]


def _swap(content: bytes, rng: Rng) -> bytes:
    first, second = sorted((_place(content, rng), _place(content, rng)))
    length = min(16, second - first)
    return (
        content[:first]
        + content[second : second + length]
        + content[first + length : second]
        + content[first : first + length]
        + content[second + length :]
    )


def _set_number(content: bytes, rng: Rng) -> bytes:
    """Replace a run of digits by another number."""
    digits = [place for place, byte in enumerate(content) if 48 <= byte <= 57]
    if not digits:
        return _flip_bit(content, rng)
    start = end = digits[int(rng.integers(len(digits)))]
    while end < len(content) and 48 <= content[end] <= 57:
        end += 1
    return content[:start] + NUMBERS[int(rng.integers(len(NUMBERS)))] + content[end:]


def _noise(content: bytes, rng: Rng) -> bytes:
    at, length = _place(content, rng), int(rng.integers(1, 33))
    return content[:at] + rng.bytes(length) + content[at + length :]


_CHANGES: tuple[Callable[[bytes, Rng], bytes], ...] = (
    _flip_bit,
    _set_byte,
    _set_word,
    _cut,
    _delete,
    _repeat,
    _insert,
    _swap,
    _set_number,
    _noise,
)


def _inside_zip(content: bytes, rng: Rng) -> bytes:
    """Change one entry of an archive, leave one out, or give one the name of another."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    chosen = list(entries)[int(rng.integers(len(entries)))]
    drawn = rng.random()
    if drawn < 0.1:
        del entries[chosen]
    elif drawn < 0.2:
        entries[list(entries)[int(rng.integers(len(entries)))]] = entries[chosen]
    else:
        entries[chosen] = mutated(entries[chosen], "", rng)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, entry in entries.items():
            archive.writestr(zipfile.ZipInfo(name), entry)
    return made.getvalue()


def _inside_gzip(content: bytes, rng: Rng) -> bytes:
    return gzip.compress(mutated(gzip.decompress(content), "", rng), mtime=0)


_INSIDE: dict[str, Callable[[bytes, Rng], bytes]] = {"npz": _inside_zip, "xlsx": _inside_zip, "csv.gz": _inside_gzip}
