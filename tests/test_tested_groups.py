"""Whoever gives the measurements learns whether the clusters are better than those of measurements without clusters."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate import generate, load_labels, report, save_ensemble
from quorate._verdict import NO_STRUCTURE, SAME_MEASUREMENTS
from quorate.cli import main
from quorate.reporting.first_page import ENGLISH


def noise(n: int = 300) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).normal(size=(n, 3))


def groups(n: int = 300) -> np.ndarray[Any, Any]:
    return noise(n) + 9 * np.eye(3)[np.arange(n) % 3]


def files(folder: Path, X: np.ndarray[Any, Any]) -> list[str]:
    """Write measurements and members made of them, as a user of the shell does."""
    np.savetxt(folder / "X.csv", X, delimiter=",", header="a,b,c", comments="")
    members = generate(X, 12, k=3, base="kmeans", random_state=0)
    save_ensemble(folder / "members.csv", members, overwrite=True)
    save_ensemble(folder / "members.npz", members, overwrite=True)
    return [str(folder / name) for name in ("X.csv", "members.csv", "members.npz")]


def shell(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main([*words, "--json", "--force"] if words[0] == "consensus" else [*words, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("is_noise", [True, False])
def test_the_shell_compares_with_measurements(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_noise: bool
) -> None:
    X, members, _ = files(tmp_path, noise() if is_noise else groups())
    out = str(tmp_path / "out.csv")
    found = shell(capsys, "consensus", members, "-k", "3", "--features", X, "-o", out)
    assert (found["verdict"]["grade"] == NO_STRUCTURE) is is_noise
    scored = shell(capsys, "score", members, out, "--features", X)
    assert (scored["verdict"]["grade"] == NO_STRUCTURE) is is_noise
    assert scored["reference_z"] is not None
    plain = shell(capsys, "score", members, out, "--features", X, "--no-reference")
    assert plain["reference_z"] is None
    assert plain["verdict"]["grade"] != NO_STRUCTURE


@pytest.mark.parametrize("option", [["--scale", "z"], ["--reference", "5"], ["--no-reference"]])
def test_options_about_measurements_need_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: list[str]
) -> None:
    _, members, _ = files(tmp_path, groups(60))
    assert main(["consensus", members, "-k", "3", *option]) == 2
    assert f"{option[0]} is about measurements; name their table with --features" in capsys.readouterr().err


def test_a_saved_ensemble_knows_that_it_was_made_from_measurements(tmp_path: Path) -> None:
    _, table, arrays = files(tmp_path, groups())
    kept = load_labels(arrays)
    made = generate(groups(), 12, k=3, base="kmeans", random_state=0)
    assert {name: kept.info[name] for name in ("k", "base", "seed")} == {
        name: made.info[name] for name in ("k", "base", "seed")
    }
    result = quorate.consensus(kept, 3, random_state=0)
    assert quorate.evaluate(result, kept, null=19).verdict.text == SAME_MEASUREMENTS
    assert "k" not in load_labels(table).info


@pytest.mark.parametrize("said", ["no JSON", "[1]", '{"k": [1]}', "[" * 100_000, '{"other": "x"}'])
def test_what_a_forged_file_says_of_its_making_is_left_out(tmp_path: Path, said: str) -> None:
    _, _, arrays = files(tmp_path, groups(60))
    with np.load(arrays) as file:
        content = {name: file[name] for name in file.files} | {"made_by": np.array([said])}
    np.savez(tmp_path / "forged.npz", **content)
    assert dict(load_labels(tmp_path / "forged.npz").info) == {}


def believed(path: Path) -> str:
    found = re.search(r"How far can this be believed\?</h2><p>([^<]*)", path.read_text(encoding="utf-8"))
    assert found is not None
    return found.group(1)


@pytest.mark.parametrize("is_noise", [True, False])
def test_the_first_page_of_a_report_does_not_praise_noise(tmp_path: Path, is_noise: bool) -> None:
    X = noise() if is_noise else groups()
    members = generate(X, 12, k=3, base="kmeans", random_state=0)
    result = quorate.consensus(members, 3, random_state=0)
    words = believed(report(result, members, tmp_path / "a.html", features=X, random_state=0))
    assert words.startswith(ENGLISH.grades[0] if is_noise else ENGLISH.grades[3])
    assert ENGLISH.untested not in words
    # without measurements nobody can know, and texts are none that members were made from
    texts = {"town": np.array(["graz", "wien", "linz"])[np.arange(len(X)) % 3]}
    for beside in ({"language": "en"}, {"features": texts}):
        words = believed(report(result, members, tmp_path / "b.html", overwrite=True, random_state=0, **beside))
        assert words.startswith(ENGLISH.same) or (is_noise and words.startswith(ENGLISH.grades[1]))
    table = quorate.as_ensemble(members.labels, orientation="objects")
    plain = quorate.consensus(table, 3, random_state=0)
    words = believed(report(plain, table, tmp_path / "c.html", language="en", random_state=0))
    assert is_noise or words.startswith(f"{ENGLISH.grades[3]} {ENGLISH.untested}")


def test_one_cluster_is_not_said_to_be_separated() -> None:
    X = np.random.default_rng(7).normal(size=(200, 3))
    model = quorate.EnsembleClustering(random_state=0, n_members=10).fit(X)
    assert model.n_clusters_ == 1
    verdict = quorate.evaluate(model.consensus_, model.ensemble_).verdict
    assert verdict.text.startswith("No clusters were found: random measurements")
    assert verdict.next_step.startswith("Treat the objects as one group.")
