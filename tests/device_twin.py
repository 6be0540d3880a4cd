"""A card made of NumPy: arrays that refuse what CuPy refuses, and a twin of every kernel.

The device's own code runs on it unchanged, so that everything but the kernels themselves is tested without a card. The
twins are slow and obvious; `tests/gpu` compares the kernels with them where there is a card.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from device_kernels import TWINS
from numpy.typing import NDArray

from quorate._device.card import Card

BINARY = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"),
    *("lt", "le", "gt", "ge", "eq", "ne", "rshift", "lshift", "matmul"),
)


class CardArray:
    """An array "on the card": NumPy functions cannot read it, and indices come back as such arrays."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, host: Any) -> None:
        self.host = np.asarray(host)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("an array on the card is not converted to NumPy unless asked to")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.host.__array_interface__

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "dtype", "nbytes", "ndim", "size", "flags"):
            return getattr(self.host, name)
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(name)
        return lambda *args, **options: wrap(getattr(self.host, name)(*map(bare, args), **options))

    def get(self) -> NDArray[Any]:
        return self.host.copy()

    def __len__(self) -> int:
        return len(self.host)

    def __getitem__(self, key: Any) -> Any:
        return CardArray(self.host[bare(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.host[bare(key)] = bare(value)

    def __int__(self) -> int:
        return int(self.host)

    def __float__(self) -> float:
        return float(self.host)

    def __bool__(self) -> bool:
        return bool(self.host)

    def __invert__(self) -> Any:
        return CardArray(~self.host)

    def __neg__(self) -> Any:
        return CardArray(-self.host)

    @property
    def T(self) -> Any:  # noqa: N802
        return CardArray(self.host.T)


def _operator(name: str) -> Callable[[CardArray, Any], Any]:
    def apply(self: CardArray, other: Any) -> Any:
        if isinstance(other, np.ndarray) and other.ndim:
            raise TypeError("an array on the card meets one in host memory")
        return CardArray(getattr(self.host, f"__{name}__")(bare(other)))

    return apply


for _name in [*BINARY, *(f"r{name}" for name in BINARY[:10])]:
    setattr(CardArray, f"__{_name}__", _operator(_name))


def bare(value: Any) -> Any:
    if isinstance(value, CardArray):
        return value.host
    return type(value)(map(bare, value)) if isinstance(value, tuple | list) else value


def wrap(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(map(wrap, value))
    return CardArray(value) if isinstance(value, np.ndarray | np.generic) else value


class Namespace:
    """CuPy's functions, by NumPy; host arrays are taken only where CuPy takes them."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if isinstance(found, type) or not callable(found):
            return found

        def call(*args: Any, **options: Any) -> Any:
            if name not in ("asarray", "array") and any(isinstance(arg, np.ndarray) and arg.ndim for arg in args):
                raise TypeError(f"{name} on the card was given an array in host memory")
            return wrap(found(*map(bare, args), **options))

        return call

    @staticmethod
    def asarray(value: Any, dtype: Any = None) -> CardArray:
        return CardArray(np.array(bare(value), dtype=dtype))


class TwinCard(Card):
    """A card whose kernels are their twins; `launched` names those that were run."""

    name = "a card of NumPy"

    def __init__(self, free: int = 1 << 40) -> None:
        super().__init__(Namespace())
        self.launched: list[str] = []
        self.free = free

    def free_bytes(self) -> int:
        return self.free

    def release(self) -> None: ...

    def synchronise(self) -> None: ...

    def to_card(self, array: NDArray[Any]) -> Any:
        return CardArray(array.copy())

    def to_host(self, array: Any) -> NDArray[Any]:
        return array if isinstance(array, np.ndarray) else array.get()

    def row_blocks(self, rows: NDArray[Any], n_rows: int) -> Iterator[tuple[int, int, Any]]:
        for start in range(0, len(rows), n_rows):
            stop = min(start + n_rows, len(rows))
            yield start, stop, CardArray(rows[start:stop].copy())

    def launch(self, kernel: str, arguments: tuple[Any, ...], *, types: Any, n: int, **_: Any) -> None:
        self.launched.append(kernel)
        if n:
            with np.errstate(over="ignore"):
                TWINS[kernel](types, *map(bare, arguments))


def blobs(seed: int, n: int = 3000, d: int = 6, dtype: Any = np.float32) -> Any:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) + 4.0 * rng.integers(3, size=(n, 1))).astype(dtype)
