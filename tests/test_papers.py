"""The harness of benchmarks/papers: verdicts, records that survive a kill, pages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.papers import inventory
from benchmarks.papers.__main__ import PAGES, PAPERS, RESULTS, SHORT, load_paper
from benchmarks.papers.compare import Claim, Compared, compared_table, judge, tally
from benchmarks.papers.paper import Experiment, Paper, grouped, measure, write_page
from benchmarks.papers.records import Results


@pytest.mark.parametrize(
    ("printed", "values", "higher", "verdict"),
    [
        (0.5, [0.51, 0.51], True, "agrees"),  # within one point, whatever the error
        (0.5, [0.52, 0.52], True, "better"),
        (0.5, [0.4, 0.7], True, "undecided"),  # too few runs to say anything
        (0.5, [0.52], True, "undecided"),
        (0.5, [0.49, 0.51] * 30, True, "agrees"),  # an interval of a quarter of a point
        (0.5, [0.45, 0.55] * 30, True, "undecided"),  # one of 1.3 points
        (0.5, [0.6, 0.6], True, "better"),
        (0.5, [0.4, 0.4], True, "worse"),
        (0.5, [0.4, 0.4], False, "better"),
        (0.5, [0.4, 0.4], None, "differs"),
        (0.5, [], True, "not measured"),
    ],
)
def test_verdicts(printed: float, values: list[float], higher: bool | None, verdict: str) -> None:
    assert Compared("x", printed, values, higher=higher).verdict == verdict


def test_the_error_of_a_difference_counts_the_runs_of_the_paper() -> None:
    values = [0.4, 0.5, 0.6, 0.5]
    deviation = np.std(values, ddof=1)
    assert Compared("x", 0.5, values).error == pytest.approx(deviation / 2)
    assert Compared("x", 0.5, values, runs=20).error == pytest.approx(deviation * (1 / 4 + 1 / 20) ** 0.5)


def test_a_difference_without_a_cause_says_so() -> None:
    rows = [Compared("a", 0.9, [0.5] * 2), Compared("b", 0.9, [0.5] * 2, why="fewer"), Compared("c", 0.9, [0.9] * 2)]
    lines = compared_table(rows).splitlines()[2:]
    assert [line.split("|")[-2].strip() for line in lines] == ["not explained", "fewer", ""]
    assert tally(rows) == "Of 3 figures, 2 are worse and 1 agrees"


def test_claims_are_judged() -> None:
    assert [judge(share) for share in (1.0, 0.7, 0.2, float("nan"))] == list(Claim.VERDICTS)
    with pytest.raises(ValueError, match="must be one of"):
        Claim("x", "surely", "1")


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    cases = [{"set": "iris", "repeat": repeat} for repeat in range(3)]
    results = Results(tmp_path / "paper.jsonl")
    results.measure("t", cases[0], lambda case: {"nmi": 0.1234567891})
    with results.path.open("a") as file:
        file.write('{"experiment": "t", "ca')  # killed while writing
    again = Results(results.path)
    assert again.missing("t", cases) == cases[1:]
    again.measure("t", cases[1], lambda case: {"nmi": case["repeat"]})
    assert [r.values["nmi"] for r in Results(results.path).of("t", cases)] == [0.12345679, 1]
    assert Results(results.path).of("other") == []


def test_a_page_holds_all_sections(tmp_path: Path) -> None:
    def value(case: dict[str, object]) -> dict[str, object]:
        if case["set"] == "absent":
            raise FileNotFoundError
        return {"nmi": 0.5}

    cases = [{"set": name, "repeat": 0} for name in ("iris", "absent")]
    run = Experiment("t", "Table 1", lambda quick: cases, value, lambda records, _: str(len(records)))
    later = Experiment("u", "Table 2", lambda quick: cases, value, lambda records, _: "")
    paper = Paper("a_paper", "A paper", "It says.", [run, later], lambda found: [Claim("c", "holds", "1")])
    results = Results(tmp_path / "r.jsonl")
    assert measure(paper, results, only="t", quick=True) == {"t": 1}
    assert write_page(paper, results, tmp_path, quick=True)[0].text == "c"
    text = (tmp_path / "a-paper.md").read_text()
    assert "| c | **holds** | 1 |" in text
    assert "## Table 1\n\n1\n" in text
    assert "ARGS=a_paper:u" in text
    assert list(grouped(results.of("t"), "set")) == [("iris",)]


@pytest.mark.parametrize("name", PAPERS)
def test_pages_tell_what_the_results_hold(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that was not written anew after a measurement, or was edited by hand, is not true."""
    monkeypatch.chdir(Path(__file__).parents[1])
    monkeypatch.delenv("QUORATE_DATA", raising=False)
    paper = load_paper(name)
    write_page(paper, Results(RESULTS / f"{name}.jsonl"), tmp_path, quick=False)
    page = f"{name.replace('_', '-')}.md"
    assert (tmp_path / page).read_text(encoding="utf-8") == (PAGES / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("item", [item for items in inventory.INVENTORY.values() for item in items])
def test_what_the_inventory_names_exists(item: inventory.Item) -> None:
    assert inventory.found(item.where) is not None
    file, _, name = item.test.partition("::")
    assert f"\ndef {name}(" in (Path(__file__).parent / file).read_text(encoding="utf-8")


def test_the_inventory_leaves_no_paper_and_no_experiment_out() -> None:
    assert tuple(inventory.INVENTORY) == tuple(SHORT) == PAPERS
    listed = {item.where for items in inventory.INVENTORY.values() for item in items}
    assert {f"{name}:{e.name}" for name in PAPERS for e in load_paper(name).experiments} <= listed
    with pytest.raises(AttributeError):
        inventory.found("quorate.methods.kmeans.no_such_function")
    with pytest.raises(StopIteration):
        inventory.found("ca_tree:no_such_experiment")
