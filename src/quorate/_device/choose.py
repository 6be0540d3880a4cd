"""Arrays that live on a card, and which device a call runs on."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from quorate import _check

if TYPE_CHECKING:
    from quorate._device.card import Card

Kind = Literal["numpy", "cupy", "torch"]
"""Where an array came from, and so what its caller gets back."""

DEVICES = (None, "auto", "cpu", "cuda")
"""The values of the option `device`."""


def lives_on_card(data: Any) -> bool:
    """Whether data live on a CUDA card: an array of CuPy or PyTorch, or an ensemble whose labels do."""
    return getattr(data, "card", None) is not None or kind_of(data) != "numpy"


def kind_of(array: Any) -> Kind:
    """Return "cupy" or "torch" for an array on a CUDA card, "numpy" for everything else; imports nothing.

    Any array with __cuda_array_interface__ that is not PyTorch's counts as CuPy's.
    """
    if isinstance(array, np.ndarray):
        return "numpy"
    module = type(array).__module__.partition(".")[0]
    if module == "torch":
        return "torch" if getattr(array, "is_cuda", False) else "numpy"
    # the attribute of a PyTorch tensor raises on the processor, so that PyTorch is asked first
    return "cupy" if hasattr(type(array), "__cuda_array_interface__") else "numpy"


def on_card(array: Any, xp: Any) -> Any:
    """Return an array that lives on the card as one of `xp`, without a copy if it is contiguous."""
    if kind_of(array) == "torch":
        return xp.ascontiguousarray(xp.from_dlpack(array.detach()))
    return xp.ascontiguousarray(xp.asarray(array))


def array_library(array: Any) -> Any:
    """Return the module of array functions for an array: CuPy for one on a card, otherwise NumPy."""
    if not lives_on_card(array):
        return np
    return getattr(find_card(), "xp")  # noqa: B009 - a string says why there is no card, but arrays live on one


def is_array(data: Any) -> bool:
    """Whether data are an array of NumPy's, or one on a card."""
    return isinstance(data, np.ndarray) or lives_on_card(data)


def on_host(data: Any) -> Any:
    """Return a copy in host memory of an array that lives on a card; anything else is returned as it is."""
    kind = kind_of(data)
    if kind == "numpy":
        return data
    return data.detach().cpu().numpy() if kind == "torch" else data.get()


def labels_on_host(result: Any) -> Any:
    """Return a Consensus whose labels live on a card with its labels alone, in host memory; others as they are."""
    if not lives_on_card(result.labels):
        return result
    return replace(result, labels=on_host(result.labels), confidence=None, runner_up=None, rows=None)


def on_one_side(ensemble: Any, result: Any) -> tuple[Any, Any]:
    """Return an ensemble and a Consensus of its rows, both in host memory if the method ran there."""
    if ensemble.card is None or lives_on_card(result.labels):
        return ensemble, result
    names = ("labels", "confidence", "runner_up", "rows")
    return ensemble.on_host(), replace(result, **{name: on_host(getattr(result, name)) for name in names})


def copied_in_kind(array: Any, like: Any) -> Any:
    """Return a host array as a new array on the card, of the library of `like`; as it is if that is in host memory."""
    kind = kind_of(like)
    if kind == "numpy":
        return array
    if kind == "torch":
        import torch

        return torch.as_tensor(array, device=like.device)
    import cupy

    return cupy.asarray(array)


def in_kind(array: Any, kind: Kind) -> Any:
    """Return an array on the card as the caller's library has it; None stays None."""
    if array is None or kind != "torch":
        return array
    import torch

    return torch.from_dlpack(array)


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
    if not isinstance(found, str):
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
    from quorate._device.card import Card

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
