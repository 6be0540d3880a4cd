"""Functions of the user as methods, and methods compared with the truth."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from quorate import METHODS, ari, compare, consensus, evaluate, nmi, solve
from quorate._data.ensemble import as_ensemble
from quorate.cli import main

TRUTH = np.repeat([0, 1, 2], 40)


def table(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([np.where(rng.random(120) < 0.15, rng.integers(0, 3, 120), TRUTH) for _ in range(8)])


def majority(ensemble: Any, n_clusters: int | None) -> np.ndarray:
    """The label that most members give, whose members share their numbers."""
    names = np.stack([values[codes] for values, codes in zip(ensemble.categories, ensemble.labels.T, strict=True)])
    return np.array([np.bincount(row).argmax() for row in names.T])


def by_method(ensemble: Any, n_clusters: int | None, rng: Any = None) -> Any:
    return METHODS["kmeans"].solve(ensemble, n_clusters or 3, rng=rng).labels


def test_a_function_is_a_method_with_confidence_and_all() -> None:
    members = table()
    result = consensus(members, 3, method=majority, random_state=0)
    wanted = [np.bincount(row).argmax() for row in members]
    assert ari(result.labels, wanted) == 1
    assert result.method == "majority"
    assert result.confidence is not None
    assert 0.8 < result.confidence.mean() <= 1
    assert result.stability is not None
    scores = evaluate(result, members, null="auto")
    assert scores.agreement is not None
    assert scores.p_value is not None
    assert scores.p_value <= 0.05
    assert list(METHODS) == [name for name in METHODS if name != "majority"]
    assert pickle.loads(pickle.dumps(result)).labels.tolist() == result.labels.tolist()


def test_a_function_that_draws_gets_the_seed() -> None:
    members = table()
    found = [consensus(members, 3, method=by_method, random_state=seed) for seed in (0, 0)]
    assert found[0].labels.tolist() == found[1].labels.tolist()
    assert np.array_equal(found[0].confidence, found[1].confidence)  # type: ignore[arg-type]
    assert consensus(members, None, method=by_method).n_clusters == 3
    assert consensus(members, (2, 4), method=by_method).info["choice"].n_clusters == 3
    assert consensus(members, 3, method=by_method, refine=True).info["refine"]["n_moves"] >= 0
    assert solve(as_ensemble(members), 3, method=majority, confidence=False).n_clusters == 3


def test_two_functions_of_one_name_are_two_methods() -> None:
    first, second = (lambda ensemble, n_clusters, shift=shift: (ensemble.labels[:, 0] + shift) % 2 for shift in (0, 1))
    names = {consensus(table(), 2, method=method, confidence=False).method for method in (first, second, first)}
    assert len(names) == 2


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (lambda ensemble, k: [0] * ensemble.n_rows, "must return 3 clusters, got 1"),
        (lambda ensemble, k: [0, 1, 2], "one label for each row"),
        (lambda ensemble, k: [[0] * ensemble.n_rows], "one label for each row"),
        (lambda ensemble, k: [None] + [1] * (ensemble.n_rows - 1), "must label every row"),
        (7, "method must be one of"),
    ],
)
def test_wrong_functions_are_refused(method: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        consensus(table(), 3, method=method)


def test_compare_knows_functions_and_the_truth() -> None:
    members = table()
    truth = pd.Series(TRUTH.astype(object)).where(np.arange(120) % 5 > 0, None)
    found = compare(members, [majority, "kmeans"], 3, n_repeats=1, random_state=0, truth=truth)
    assert found.methods == ("majority", "kmeans")
    known = np.arange(120) % 5 > 0
    for row in found.rows:
        labels = found.result(row.method, 3).labels[known]
        assert row.ari == pytest.approx(ari(labels, TRUTH[known]))
        assert row.nmi == pytest.approx(nmi(labels, TRUTH[known]))
    assert "ari" in str(found).splitlines()[0]
    assert "ari" not in str(compare(members, ["kmeans"], 3, n_repeats=0)).splitlines()[0]
    assert found.matrix("ari").shape == (2, 1)


def test_the_shell_compares_with_the_truth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pd.DataFrame(table(), columns=[f"m{place}" for place in range(8)]).assign(truth=TRUTH).rename_axis("id")
    frame.to_csv(tmp_path / "labels.csv")
    line = [
        "compare",
        str(tmp_path / "labels.csv"),
        "--id",
        "id",
        "-k",
        "3",
        "-m",
        "kmeans",
        "--repeats",
        "0",
        "--json",
    ]
    assert main([*line, "--truth", "truth"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["comparison"][0]["ari"] > 0.9
    assert len(facts["clusterings"]) == 8
    assert main([*line, "--truth", "klass"]) == 2
    assert "has no column 'klass'" in capsys.readouterr().err
