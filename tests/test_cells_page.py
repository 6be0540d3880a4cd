"""The table of the guide to single cells is the one that the stored results make."""

from __future__ import annotations

from pathlib import Path

from benchmarks.cells.__main__ import PAGE, SETS, read, table, with_table

ROOT = Path(__file__).parents[1]


def test_the_guide_has_the_stored_figures() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert with_table(text, read()) == text


def test_every_set_has_a_line_of_means() -> None:
    lines = [
        {"set": name, "what": what, "seed": seed, "cells": 9, "types": 2, "ari": 0.5 + seed / 10, "found": 3}
        for name in SETS
        for what in ("k-means", "louvain", "cells", "cells auto")
        for seed in (0, 1)
    ]
    found = table(lines).splitlines()
    assert len(found) == 2 + len(SETS)
    assert "| .550 | .550 | .550 | .550 | 3, 3 |" in found[2]
    assert table(lines[1:2]).count("\n") == 1
