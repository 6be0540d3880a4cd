"""The demo: the story holds, the files are there, and the commands it shows do what it did."""

from __future__ import annotations

import re
import shlex
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quorate import load_labels
from quorate.cli import main
from quorate.cli.demo import DEPARTMENTS, TYPES, customers, demo


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("demo") / "a new folder"
    return folder, demo(folder)


def test_the_files(played: tuple[Path, str]) -> None:
    folder, story = played
    assert sorted(p.name for p in folder.iterdir()) == [
        "consensus.csv",
        "consensus.png",
        "customers.csv",
        "report.html",
    ]
    ensemble = load_labels(folder / "customers.csv", ids="id")
    assert ensemble.member_names == tuple(DEPARTMENTS)
    assert ensemble.has_missing
    assert len(set(ensemble.n_clusters.tolist())) > 1
    assert (folder / "consensus.csv").read_text().startswith("id,label,confidence\nC0001,0,")
    assert (folder / "consensus.png").read_bytes().startswith(b"\x89PNG")
    assert all(
        str(folder / name) in story for name in ("customers.csv", "consensus.csv", "report.html", "consensus.png")
    )
    assert "3,000 objects" in (folder / "report.html").read_text(encoding="utf-8")


def test_the_consensus_beats_every_department(played: tuple[Path, str]) -> None:
    rows = re.findall(r"^  (\w+) +(\d+) +(\d+)% +([\d.]+) +([\d.]+) +(\d+)%$", played[1], flags=re.MULTILINE)
    figures = {name: [float(value) for value in rest] for name, *rest in rows}
    assert list(figures) == [*DEPARTMENTS, "consensus"]
    k, labelled, agreement, nmi, right = figures.pop("consensus")
    assert (k, labelled) == (len(TYPES), 100)
    for _, _, other_agreement, other_nmi, other_right in figures.values():
        assert agreement > other_agreement
        assert nmi > other_nmi
        assert right > other_right + 10


def test_the_commands_in_the_story(played: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, story = played
    made = (folder / "consensus.csv").read_text()
    commands = [shlex.split(line)[1:] for line in story.splitlines() if line.startswith("  quorate ")]
    assert [command[0] for command in commands] == ["consensus", "score", "report"]
    assert main([*commands[0], "--force"]) == 0
    assert main(commands[1]) == 0
    assert main([*commands[2], "--force"]) == 0
    assert (folder / "consensus.csv").read_text() == made
    code = story.split("and from Python:\n")[1]
    exec("\n".join(line.strip() for line in code.splitlines()), {})
    assert (folder / "consensus.csv").read_text() == made
    assert "anmi" in capsys.readouterr().out


def test_the_same_customers_every_time() -> None:
    one, truth = customers()
    other, again = customers()
    assert np.array_equal(one.labels, other.labels)
    assert np.array_equal(truth, again)


def test_files_of_an_earlier_demo(played: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--output", str(played[0])]) == 2
    assert "customers.csv exists already" in capsys.readouterr().err
    assert main(["demo", "--output", str(played[0]), "--force"]) == 0
    assert capsys.readouterr().out == played[1]


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = util.find_spec

    def hide(name: str, *rest: Any) -> Any:
        return None if name == "matplotlib" else find(name, *rest)

    monkeypatch.setattr(util, "find_spec", hide)
    assert 'pip install "quorate[plot]"' in demo(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["consensus.csv", "customers.csv", "report.html"]
