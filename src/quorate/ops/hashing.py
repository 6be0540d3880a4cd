"""A hash of values that is as fast as reading the memory.

Different data have different hashes with high probability, but deliberate collisions are possible.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate.ops.compiling import njit

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_LEFT, _RIGHT = np.uint64(29), np.uint64(35)


@njit(cache=True, nogil=True)
def hash_words(words: NDArray[np.uint64], state: NDArray[np.uint64]) -> None:
    """Mix words (n,) into state (4,); n must be a multiple of 4.

    Word i goes to lane i % 4, where it is combined by exclusive or; then the lane is multiplied and rotated. There are
    four lanes so that the processor need not wait for one multiplication before it begins the next. Every step is a
    bijection of the lane, so a single changed word always changes the state.
    """
    a, b, c, d = state[0], state[1], state[2], state[3]
    for place in range(0, words.size, 4):
        a = (a ^ words[place]) * _MULTIPLIER
        b = (b ^ words[place + 1]) * _MULTIPLIER
        c = (c ^ words[place + 2]) * _MULTIPLIER
        d = (d ^ words[place + 3]) * _MULTIPLIER
        a = (a << _LEFT) | (a >> _RIGHT)
        b = (b << _LEFT) | (b >> _RIGHT)
        c = (c << _LEFT) | (c >> _RIGHT)
        d = (d << _LEFT) | (d >> _RIGHT)
    state[0], state[1], state[2], state[3] = a, b, c, d


@njit(cache=True, nogil=True)
def hash_texts(data: NDArray[np.uint8], ends: NDArray[np.int64], keys: NDArray[np.uint64]) -> None:
    """Write a hash of each text into keys (n,); text i is data[ends[i]:ends[i + 1]]."""
    for text in range(keys.size):
        value = _MULTIPLIER ^ np.uint64(ends[text + 1] - ends[text])
        for place in range(ends[text], ends[text + 1]):
            value = (value ^ np.uint64(data[place])) * _MULTIPLIER
            value = (value << _LEFT) | (value >> _RIGHT)
        keys[text] = value ^ (value >> _RIGHT)
