"""What all tests share: kernels that run as plain Python, a card of NumPy, and the browser of the tests of reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from browser import PROGRAM, Browser, Page
from hypothesis import settings

if numba.config.DISABLE_JIT:
    # as plain Python (make coverage), kernels overflow on purpose, as hashes do
    np.seterr(over="ignore")


settings.register_profile("tests", max_examples=50)
settings.load_profile("tests")


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A card of NumPy in the place of CuPy's."""
    # imported here, because most tests need neither
    from device_twin import TwinCard

    from quorate._device import choose

    twin = TwinCard()
    monkeypatch.setattr(choose, "_found", lambda: twin)
    return twin


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A cluster of two processes, of which a test may kill some."""
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.worker.daemon": False}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit="2GB"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for the tests of a module."""
    assert PROGRAM is not None
    started = Browser(PROGRAM)
    yield started
    started.close()


@pytest.fixture
def page(browser: Browser, made: tuple[Any, Any, Path]) -> Iterator[Page]:
    """The report that the module's fixture `made` wrote, opened; it must neither complain nor ask for anything."""
    opened = browser.open(made[2])
    yield opened
    assert opened.complaints() == []
    assert opened.requests() == []
    opened.close()
