"""Run every operation on the card and on the card of NumPy, and print how far they are apart; needs no pytest.

python -m benchmarks.gpu.twins
"""

from __future__ import annotations

import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

TESTS = Path(__file__).parents[2] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "gpu")]

from device_twin import TwinCard  # noqa: E402
from operations import CLOSE, EXACT  # noqa: E402

from quorate._device.choose import find_card  # noqa: E402


def apart(one: Any, two: Any) -> tuple[float, float]:
    """The largest relative difference of two results, and the share of entries that differ at all."""
    one, two = np.asarray(one), np.asarray(two)
    if one.shape != two.shape:
        return np.inf, 1.0
    scale = np.maximum(np.abs(two.astype(np.float64)).max(initial=0), 1e-300)
    difference = np.abs(one.astype(np.float64) - two.astype(np.float64))
    return float(difference.max(initial=0) / scale), float((difference > 0).mean()) if difference.size else 0.0


def main() -> None:
    card = find_card()
    if isinstance(card, str):
        print(card)
        return
    for name, operation in {**EXACT, **CLOSE}.items():
        try:
            start = time.perf_counter()
            found = operation(card, 1)
            again = operation(card, 1)
            wanted = operation(TwinCard(), 1)
            rows = [apart(one, two) for one, two in zip(found, wanted, strict=True)]
            same = all(np.array_equal(one, two) for one, two in zip(found, again, strict=True))
            worst = max(range(len(rows)), key=lambda place: rows[place][1])
            print(
                f"{name:10s} {len(rows)} results, largest relative difference {max(r[0] for r in rows):.2e}, "
                f"largest share of entries {rows[worst][1]:.2e} (result {worst}), same again {same}, "
                f"{time.perf_counter() - start:.1f} s"
            )
            if name in EXACT and rows[worst][1] > 0:
                print("   NOT EXACT:", [place for place, row in enumerate(rows) if row[1] > 0])
        except Exception:
            print(f"{name}: failed")
            traceback.print_exc(limit=6)


if __name__ == "__main__":
    main()
