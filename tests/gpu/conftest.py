"""Tests that need a CUDA card are skipped, with the reason, where there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    from quorate._device.choose import find_card

    found = find_card()
    if isinstance(found, str):
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=f"these tests need a CUDA card: {found}"))
