"""Arrays of other libraries that live on a card: recognised, read without a copy, and returned in kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

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


def on_host(array: Any) -> NDArray[Any]:
    """Return a copy of an array that lives on a card in host memory."""
    copied: NDArray[Any] = array.detach().cpu().numpy() if kind_of(array) == "torch" else array.get()
    return copied


def arrays_on_host(result: Any) -> Any:
    """Return a Consensus with its arrays, which may live on either side, in host memory."""
    names = ("labels", "confidence", "runner_up", "rows")
    moved = {name: on_host(array) for name in names if lives_on_card(array := getattr(result, name))}
    return replace(result, **moved)


def copied_in_kind(array: Any, like: Any) -> Any:
    """Return a host array as a new array on the card, of the library that `like` is an array of."""
    if kind_of(like) == "torch":
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
