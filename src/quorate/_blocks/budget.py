"""The memory budget: how large blocks may be, how large the table of distinct rows, and what was really used."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from quorate import _check

LARGEST_BLOCK = 1 << 20
SMALLEST_BLOCK = 1 << 14
DEFAULT_SHARE = 0.5
"""Without a budget, this share of the machine's memory may be used, but at most `MOST_BY_DEFAULT`."""
MOST_BY_DEFAULT = 8_000_000_000
BLOCKS_SHARE = 0.2
"""The share of the budget for blocks that are being read and coded."""
ROWS_SHARE = 0.5
"""The share of the budget for the table of distinct rows."""
LEAST = 64_000_000
"""The smallest budget: Python and its libraries alone take more than this."""


@dataclass(frozen=True)
class Budget:
    """A number of bytes that the work may use beside the program itself, and how it is divided."""

    n_bytes: int

    def block_rows(self, row_bytes: int, n_at_once: int) -> int:
        """Return how many rows a block may have if so many blocks are in memory at once."""
        wanted = int(BLOCKS_SHARE * self.n_bytes / (n_at_once * max(row_bytes, 1)))
        return max(SMALLEST_BLOCK, min(LARGEST_BLOCK, wanted))

    @property
    def for_rows(self) -> int:
        """Bytes that the table of distinct rows may take."""
        return int(ROWS_SHARE * self.n_bytes)

    def refuse_rows(self, needed: int, n_rows: int, n_objects: int) -> None:
        """Raise if the table of distinct rows needs more memory than its share."""
        if needed > self.for_rows:
            raise MemoryError(
                f"{n_rows:,} distinct rows after {n_objects:,} objects need {_check.size(needed)}, more than the "
                f"{_check.size(self.for_rows)} for them in a budget of {_check.size(self.n_bytes)}; raise memory= "
                f"(--memory), take fewer members, or coarsen the table in parts."
            )


def as_budget(memory: Any) -> Budget:
    """Return the budget for an option such as "2GB", a number of bytes, or None for half of the machine's memory."""
    if memory is None:
        return Budget(int(min(DEFAULT_SHARE * _machine_memory(), MOST_BY_DEFAULT)))
    number = as_bytes(memory) if isinstance(memory, str) else _check.n_bytes(memory, "memory")
    if number < LEAST:
        raise ValueError(
            f"memory must be at least {_check.size(LEAST)}, got {_check.brief(memory)}; for example '2GB'."
        )
    return Budget(number)


def as_bytes(text: str) -> int:
    """Return a number of bytes from texts such as 8e9, 8GB, 1.5 GB or 512MiB."""
    parts = re.fullmatch(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([kKmMgGtT]i?[bB]?|[bB])?\s*", text)
    if parts is None:
        raise ValueError(f"memory must be a number of bytes such as 8e9 or '8GB', got {_check.brief(text)}.")
    unit = parts.group(2) or ""
    base = 1024 if "i" in unit else 1000
    power = "bkmgt".index(unit[0].lower()) if unit else 0
    return int(float(parts.group(1)) * base**power)


def _machine_memory() -> int:
    """Return the memory of the machine, or of the control group that this process is confined to."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 2 * MOST_BY_DEFAULT
    for place in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(place, encoding="ascii") as file:
                total = min(total, int(file.read()))
        except (OSError, ValueError):
            continue
    return total


def peak_bytes() -> int | None:
    """Return the largest amount of memory that this process has had so far; None if the system does not tell."""
    try:
        import resource
        import sys
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else 1024 * peak)
