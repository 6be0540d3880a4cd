"""Which device a call runs on: the option `device`, where the data live, and whether there is a card that works."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

from quorate import _check
from quorate._device.card import Card
from quorate._device.device_arrays import DEVICES, lives_on_card

logger = logging.getLogger("quorate")


class NoCardError(OSError):
    """Raised if a card was asked for and there is none that works; the message is one line."""


def card_for(device: Any, *data: Any) -> Card | None:
    """Return the card that a call runs on, or None for the processor.

    Parameters
    ----------
    device : None, "auto", "cpu" or "cuda"
        With None the data decide: those that live on a card stay there. "auto" takes a card if one works.
    *data : any
        The arrays of the call.
    """
    wanted = _check.choice(device, "device", DEVICES)
    resident = any(lives_on_card(item) for item in data)
    if wanted == "cpu" or (wanted is None and not resident):
        return None
    found = find_card()
    if isinstance(found, Card):
        return found
    if wanted == "auto" and not resident:
        logger.info("device: the processor, because %s", found)
        return None
    raise NoCardError(f"device 'cuda' cannot be used: {found}")


def find_card() -> Card | str:
    """Return the card, or the reason why there is none."""
    return _found()


@cache
def _found() -> Card | str:
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed; install quorate[gpu], and the CuPy that fits your driver."
    except Exception as error:
        return f"CuPy cannot be loaded ({_one_line(error)}); install the CuPy that fits your CUDA driver."
    try:
        if cupy.cuda.runtime.getDeviceCount() == 0:
            return "this machine has no CUDA card; use device='cpu'."
        cupy.zeros(1)
    except Exception as error:
        return f"the CUDA driver does not work ({_one_line(error)}); update the driver, or use device='cpu'."
    return Card(cupy)


def need_memory(card: Card, wanted: int, what: str) -> None:
    """Raise a MemoryError of one line unless `wanted` bytes can be allocated on the card."""
    free = card.free_bytes()
    if wanted > free:
        raise MemoryError(
            f"{what} needs {wanted / 1e9:.1f} GB on the card, which has {free / 1e9:.1f} GB free; "
            f"use device='cpu', or give the card fewer objects at a time."
        )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that the card's memory is used up."""
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
