"""The distinct rows of a table are searched once per call and per shell command, however many steps need them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from ensembles import noisy_with_truth
from imports import modules_of

import quorate
from quorate import Consensus, as_ensemble, choose_k, compress, consensus, evaluate, report
from quorate._solve import procedure
from quorate.cli import main
from quorate.solvers.label_rows import distinct

TRUTH, LABELS = noisy_with_truth(0, 200, 3, 6, missing=0.1)
# all modules that may call the search, also those that are loaded only when they are needed
SOURCES = modules_of(Path(quorate.__file__).parent)
MODULES = [import_module(name) for name, path in SOURCES.items() if "distinct" in path.read_text(encoding="utf-8")]


@cache
def result() -> Consensus:
    return consensus(LABELS, 3, method="kmeans", random_state=0)


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows of all tables whose distinct rows are searched while a test runs, in order."""
    sizes: list[int] = []
    result()  # before anything is counted
    # the procedure is repeated on parts of the table, which are tables of their own and here have fewer rows
    monkeypatch.setattr(procedure, "MOST_OBJECTS", 100)

    def counting(ensemble: Any) -> Any:
        if ensemble.n_rows > procedure.MOST_OBJECTS:
            sizes.append(ensemble.n_rows)
        return distinct(ensemble)

    for module in MODULES:
        if getattr(module, "distinct", None) is distinct:
            monkeypatch.setattr(module, "distinct", counting)
    return sizes


CALLS: dict[str, Callable[[Path], Any]] = {
    "consensus": lambda folder: consensus(LABELS, 3, random_state=0),
    "consensus by a tree, refined": lambda folder: consensus(LABELS, 3, method="eac", refine=True, random_state=0),
    "consensus of several methods": lambda folder: consensus(LABELS, 3, method="supra", random_state=0),
    "consensus that chooses": lambda folder: consensus(LABELS, (2, 5), random_state=0),
    "evaluate": lambda folder: evaluate(result(), LABELS),
    "evaluate with the truth": lambda folder: evaluate(result(), LABELS, truth=TRUTH),
    "choose_k": lambda folder: choose_k(LABELS, (2, 5), random_state=0),
    "report": lambda folder: report(result(), LABELS, folder / "page.html", random_state=0),
    "report of labels": lambda folder: report(result().labels, LABELS, folder / "page.html", truth=TRUTH, numbers=None),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_searches_its_table_once(call: str, searched: list[int], tmp_path: Path) -> None:
    CALLS[call](tmp_path)
    # tables with fewer rows are parts of the table, on which the procedure is repeated
    assert searched.count(200) == 1


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table with names of objects and a column of true classes, and beside it a file of labels for the objects."""
    lines = [f"x{row},{','.join(map(str, LABELS[row]))},{TRUTH[row]}" for row in range(200)]
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(["name,a,b,c,d,e,f,kind", *lines]).replace("-1", "") + "\n")
    labelling = [f"x{row},{label}" for row, label in enumerate(result().labels)]
    (tmp_path / "out.csv").write_text("\n".join(["name,label", *labelling]) + "\n")
    return path


MEMBERS = ["--id", "name", "--columns", "a,b,c,d,e,f"]
COMMANDS = {
    "consensus": ["consensus", "{table}", "-k", "3"],
    "consensus that chooses": ["consensus", "{table}", "-k", "2:5"],
    "consensus with a report": ["consensus", "{table}", "-k", "3", "--report", "{folder}/page.html"],
    "score": ["score", "{table}", "{folder}/out.csv"],
    "score with the truth": ["score", "{table}", "{folder}/out.csv", "--truth", "kind"],
    "report": ["report", "{table}", "{folder}/out.csv", "-o", "{folder}/page.html"],
    "report with the truth": ["report", "{table}", "{folder}/out.csv", "-o", "{folder}/page.html", "--truth", "kind"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_shell_command_searches_its_table_once(
    command: str, searched: list[int], table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.format(table=table, folder=table.parent) for word in COMMANDS[command]]
    assert main([*words, *MEMBERS]) == 0, capsys.readouterr().err
    # tables with fewer rows are parts of the table, on which the procedure is repeated
    assert searched.count(200) == 1


def test_the_count_counts(searched: list[int]) -> None:
    """Two tables are searched twice; what was compressed is not searched again."""
    first, second = as_ensemble(LABELS), as_ensemble(LABELS)
    compress(first)
    compress(second)
    assert searched == [200, 200]
    compress(compress(first)[0])
    assert searched == [200, 200]
