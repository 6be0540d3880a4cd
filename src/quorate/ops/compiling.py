"""njit: numba's decorator for kernels, whose compiled code is kept on disk where that is possible and not otherwise.

Without a cache every process compiles the kernels it uses anew, which costs seconds and nothing else. So no failure
of the cache may stop the work: neither a package and a home that cannot be written to, nor a full disk, nor a damaged
file left in the cache. The first such failure of a process is told by a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ADVICE = "set NUMBA_CACHE_DIR to a folder that can be written to"
_told: list[str] = []
"""The failure that this process has told, if there was one."""


def njit(
    *, cache: bool = True, nogil: bool = True, inline: str = "never", fastmath: bool | set[str] = False
) -> Callable[[Any], Any]:
    """Compile a function when it is first called, as `numba.njit` does, with a cache that may fail."""

    def compiled(function: Any) -> Any:
        kernel = numba.njit(nogil=nogil, inline=inline, fastmath=fastmath)(function)
        if not hasattr(kernel, "enable_caching"):
            # with NUMBA_DISABLE_JIT the kernel is the function itself: there is nothing to keep, and NumPy would warn
            # of each product of hashes that wraps around, which compiled code does silently
            return np.errstate(over="ignore")(kernel)
        if cache:
            _enable_cache(kernel)
        return kernel

    return compiled


def _enable_cache(kernel: Any) -> None:
    try:
        kernel.enable_caching()
    except (RuntimeError, OSError) as error:
        # numba: "cannot cache function ...: no locator available"
        _tell(error)
        return
    # numba has no public door for a cache of one's own; tests/test_compiling.py fails if this attribute goes away
    kernel._cache = _ForgivingCache(kernel._cache)


class _ForgivingCache:
    """The cache of one kernel; if it fails, the kernel is compiled as if there were none."""

    def __init__(self, cache: Any) -> None:
        self._kept = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kept, name)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature, or None if there is none or it cannot be read."""
        try:
            return self._kept.load_overload(signature, target_context)
        except Exception as error:
            # a damaged file may raise anything when it is unpickled
            _tell(error)
            self._empty()
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep the compiled code for a signature if possible."""
        try:
            self._kept.save_overload(signature, data)
        except Exception as error:
            _tell(error)
            self._empty()

    def _empty(self) -> None:
        """Write an empty index, so that a damaged one is mended and a half-written entry is never found."""
        try:
            self._kept.flush()
        except Exception as error:
            _tell(error)


def _tell(error: Exception) -> None:
    if _told:
        return
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    _told.append(reason)
    warnings.warn(
        f"compiled code cannot be kept on disk, so this run compiles it anew ({reason}); {ADVICE}.",
        RuntimeWarning,
        stacklevel=2,
    )
