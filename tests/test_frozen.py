"""Labels and objectives are those that were recorded in benchmarks/frozen; a change of results is a decision.

After a change that is meant, record anew with `python -m benchmarks.frozen record` and tell it in the changelog.
"""

from __future__ import annotations

from itertools import groupby

import pytest
from benchmarks.frozen.ensembles import cases
from benchmarks.frozen.outcomes import other_verbs, outcome, runs, versions
from benchmarks.frozen.recorded import RESULTS, read

RECORDED, VERSIONS = read(RESULTS)

# What a result depends on beside our own code: eigenvectors come from LAPACK, balanced cuts from a partitioner.
EIGENVECTORS = ("numpy", "scipy")
NEEDS = {
    "auto": EIGENVECTORS,
    "cspa": ("pymetis",),
    "ecpcs": EIGENVECTORS,
    "hbgf": ("pymetis",),
    "hgpa": ("mtkahypar",),
    "lwgp": EIGENVECTORS,
    "mcla": ("pymetis",),
    "spectral": EIGENVECTORS,
    "supra": ("pymetis",),
    "transfer": EIGENVECTORS,
}

# The first ensemble of each kind, the large ones left out: "tied 0" of "tied 0" to "tied 7", and so on.
KINDS = groupby((case for case in cases() if not case.large), key=lambda case: case.name.rstrip("0123456789 "))
FIRST = {kind: next(group) for kind, group in KINDS}

RUNS: dict[tuple[str, str], list[tuple[str, int | None]]] = {}
"""For each method and kind of ensemble the runs: the name they are recorded under, and the number of clusters."""
for kind, case in FIRST.items():
    for name, method, n_clusters in runs(case):
        RUNS.setdefault((method, kind), []).append((name, n_clusters))


def skip_with_other_libraries(method: str) -> None:
    """Skip the test if a library that the method rests on has another version than when results were recorded."""
    here = versions()
    other = [f"{name} {VERSIONS[name]}" for name in NEEDS.get(method, ()) if VERSIONS[name] != here[name]]
    if other:
        pytest.skip(f"results of {method} were recorded with {' and '.join(other)}, other versions are installed")


@pytest.mark.parametrize(("method", "kind"), sorted(RUNS))
def test_results_are_the_recorded_ones(method: str, kind: str) -> None:
    skip_with_other_libraries(method)
    for name, n_clusters in RUNS[method, kind]:
        expected, result = RECORDED[name], outcome(FIRST[kind], method, n_clusters)
        assert ("error" in result) == ("error" in expected), result
        if "error" not in expected:
            assert (result["labels"], result["n_clusters"]) == (expected["labels"], expected["n_clusters"])
            # sums of floating-point numbers may end differently on another processor
            assert float.fromhex(result["objective"]) == pytest.approx(float.fromhex(expected["objective"]), rel=1e-9)


@pytest.mark.parametrize("kind", [kind for kind in FIRST if kind != "soft"])
def test_other_verbs_give_the_recorded_results(kind: str) -> None:
    expected, result = RECORDED[f"{FIRST[kind].name} / other verbs"], other_verbs(FIRST[kind])
    for verb in ("coarsen", "tree", "pairs"):
        assert result[verb] == expected[verb]
    assert result["refine"][0] == expected["refine"][0]
    assert result["evaluate"] == pytest.approx(expected["evaluate"])


def test_every_run_on_every_ensemble_is_recorded() -> None:
    """A new method or ensemble must be recorded before it can be compared; what is gone must go from the file."""
    names = {name for case in cases() for name, _, _ in runs(case)}
    others = {name for name in RECORDED if name.endswith("other verbs") or name.startswith("generate / ")}
    assert set(RECORDED) - others == names
    assert set(NEEDS) <= {method for method, _ in RUNS}
    assert sorted(FIRST) == [
        "counted", "missing", "no agreement", "soft", "tied", "two objects", "unanimous", "uneven", "weighted",
    ]  # fmt: skip
