"""The same seed gives the same labels with the BLAS kernels of another processor."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from threadpoolctl import threadpool_info

FIT = """
import json, sys
import numpy as np
from threadpoolctl import threadpool_info
from quorate import EnsembleClustering
found = []
for seed, (n, d) in enumerate([(300, 2), (400, 10), (300, 150)]):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(size=(n // 2, d)), rng.standard_t(3, (n // 2, d)) + 0.5])
    X = np.round(X) if seed == 0 else X  # parts of the graph of neighbours that do not touch have equal eigenvalues
    model = EnsembleClustering(5, n_members=10, method_options={"confidence": False}, random_state=seed).fit(X)
    found.append([model.labels_.tolist(), model.ensemble_.labels.tolist(), model.ensemble_.info["base"]])
kernels = sorted({str(entry.get("architecture")) for entry in threadpool_info()})
print(json.dumps([kernels, found]))
"""


def fitted(kind: str | None) -> tuple[list[str], list[object]]:
    """Return the kernels that a process of its own uses, and the labels that it finds with members in noise."""
    given = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    environment = given if kind is None else {**given, "OPENBLAS_CORETYPE": kind}
    done = subprocess.run([sys.executable, "-c", FIT], env=environment, capture_output=True, text=True, check=True)
    kernels, found = json.loads(done.stdout)
    return kernels, found


def test_the_kernels_of_another_processor_change_no_label() -> None:
    """There are no clusters in these measurements, so that every rounding error that is not held back decides."""
    if not any(entry.get("internal_api") == "openblas" for entry in threadpool_info()):
        pytest.skip("this BLAS has no kernels to choose from")
    kernels, expected = fitted(None)
    others = [fitted(kind) for kind in ("Nehalem", "Prescott")]
    others = [(other, found) for other, found in others if other != kernels]
    if not others:
        pytest.skip("OpenBLAS knows no other kernels for this processor")
    for other, found in others:
        assert found == expected, f"labels differ between the kernels {kernels} and {other}"
