"""The steps from labels or measurements to a result that is judged, at two sizes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import quorate


def table(n: int, members: int = 20, clusters: int = 10) -> NDArray[np.int64]:
    """A planted partition, of which each member gets a tenth wrong."""
    rng = np.random.default_rng(0)
    truth = rng.integers(clusters, size=n)
    return np.column_stack(
        [np.where(rng.random(n) < 0.1, rng.integers(clusters, size=n), truth) for _ in range(members)]
    )


def points(n: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 8)) + 4 * rng.normal(size=(10, 8))[rng.integers(10, size=n)]


class Labels:
    """From a table of labels to a consensus and its scores."""

    params = (10_000, 200_000)
    param_names = ("objects",)

    def setup(self, n: int) -> None:
        self.table = table(n)
        self.ensemble = quorate.as_ensemble(self.table)
        self.result = quorate.consensus(self.ensemble, 10, random_state=0)

    def time_as_ensemble(self, n: int) -> None:
        quorate.as_ensemble(self.table)

    def time_compress(self, n: int) -> None:
        quorate.compress(quorate.as_ensemble(self.table))

    def time_consensus(self, n: int) -> None:
        quorate.consensus(self.table, 10, random_state=0)

    def time_evaluate(self, n: int) -> None:
        quorate.evaluate(self.result, self.ensemble)

    def peakmem_consensus(self, n: int) -> None:
        quorate.consensus(self.table, 10, random_state=0, confidence=False)


class Methods:
    """Each family of methods on 20,000 objects; the rows are compressed before."""

    params = ("lwgp", "kmeans", "eac", "mcla", "mixture", "voting")
    param_names = ("method",)

    def setup(self, method: str) -> None:
        self.ensemble = quorate.as_ensemble(table(20_000))
        self.time_solve(method)

    def time_solve(self, method: str) -> None:
        quorate.consensus(self.ensemble, 10, method=method, random_state=0, confidence=False)


class Measurements:
    """From measurements to members, and to a model."""

    params = (2_000, 20_000)
    param_names = ("objects",)

    def setup(self, n: int) -> None:
        self.points = points(n)
        self.model = quorate.EnsembleClustering(10, random_state=0).fit(self.points)

    def time_generate(self, n: int) -> None:
        quorate.generate(self.points, 20, k=(10, 40), base="kmeans", random_state=0)

    def time_fit(self, n: int) -> None:
        quorate.EnsembleClustering(10, random_state=0).fit(self.points)

    def time_predict(self, n: int) -> None:
        self.model.predict(self.points)


class Answers:
    """What people wait for after the labels: the number of clusters, and the report."""

    timeout = 120

    def setup(self) -> None:
        self.ensemble: Any = quorate.as_ensemble(table(5_000))
        self.result = quorate.consensus(self.ensemble, 10, random_state=0)
        self.folder = tempfile.TemporaryDirectory()
        self.page = Path(self.folder.name) / "report.html"

    def teardown(self) -> None:
        self.folder.cleanup()

    def time_choose_k(self) -> None:
        quorate.choose_k(self.ensemble, random_state=0)

    def time_report(self) -> None:
        quorate.report(self.result, self.ensemble, self.page, overwrite=True)


def timeraw_import() -> str:
    """A new process that imports the package."""
    return "import quorate"
