"""Memory that one thread gives back is used by the others, so that a budget for memory can be kept."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress

_ARENA_MAX = -8
"""The number of this setting in glibc's malloc.h."""
_ARENAS = 2


def share_arenas() -> bool:
    """Let all threads take memory from two arenas of the C library, and return whether that could be set.

    By default glibc has up to eight arenas for each core, and keeps in each what its threads have freed. Spectral
    members that are trained in threads then keep hundreds of megabytes that nobody uses. Other C libraries have no
    such setting. It holds for the whole process, so that only commands of the shell tool do this.
    """
    if sys.platform != "linux":
        return False
    with suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS))
    return False
