"""Mutated files of every format, with fixed seeds: `make fuzz` goes on with others for as long as one likes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from benchmarks.reliability import fuzz, page
from benchmarks.reliability.cases import Case, read_cases, read_corpus
from benchmarks.reliability.shell import Outcome, faults

N_MUTATIONS = 20
"""Of each target; together about half a minute."""


@pytest.mark.parametrize("source", fuzz.TARGETS)
def test_mutations(source: str) -> None:
    tally = fuzz.Tally()
    place = list(fuzz.TARGETS).index(source)
    for number in range(N_MUTATIONS):
        drawn, case = fuzz.draw_case(place + number * len(fuzz.TARGETS), seed=0)
        assert drawn == source
        found = fuzz.try_case(source, case, tally)
        assert found == [], f"{case.as_line()}: {found}"
    assert tally.runs == {source: N_MUTATIONS}
    # mutations that change nothing would find nothing
    assert tally.refused >= N_MUTATIONS // 5 or source == "run"


def test_a_mutation_can_be_made_again() -> None:
    for number in range(2 * len(fuzz.TARGETS)):
        first, second = fuzz.draw_case(number, 3), fuzz.draw_case(number, 3)
        assert first == second
    assert fuzz.draw_case(0, 3) != fuzz.draw_case(0, 4)


def test_what_is_found_becomes_a_case(tmp_path: Path) -> None:
    _, case = fuzz.draw_case(5, seed=0)
    path = fuzz.keep(case, "a\nreason", tmp_path)
    (again,) = read_cases(path)
    assert (again.run, again.files, again.exit) == (case.run, case.files, None)
    assert path.read_text().count("\n") == 2
    shutil.copyfile(path, tmp_path / "other.cases")
    assert len(read_corpus(tmp_path)) == 2


CASE = Case("x", ["consensus", "a.csv", "-o", "out.csv"], exit=2, says="words")


@pytest.mark.parametrize(
    ("outcome", "fault"),
    [
        (Outcome(2, "", "quorate: error: words\n", 0.1, (), ()), None),
        (Outcome(0, "", "", 0.1, (), ("out.csv",)), "exit status 0 instead of 2"),
        (Outcome(1, "", "quorate: error: words\n", 0.1, (), ()), "exit status 1"),
        (Outcome(None, "", "Traceback\nquorate: error: words\n", 0.1, (), ()), "a traceback"),
        (Outcome(2, "", "quorate: error: words\nquorate: error: more\n", 0.1, (), ()), "2 lines of errors"),
        (Outcome(2, "", "quorate: error: other\n", 0.1, (), ()), "does not say 'words'"),
        (Outcome(2, "", "quorate: error: words \x1b[2J\n", 0.1, (), ()), "control characters"),
        (Outcome(2, "", "quorate: error: words\n", 0.1, ("a.csv",), ()), "a.csv was changed"),
        (Outcome(2, "", "quorate: error: words\n", 0.1, (), ("out.csv",)), "out.csv was left behind"),
        (Outcome(2, "", "quorate: error: words\n", 0.1, (), (".out.csv.12.part",)), ".part was left behind"),
        (Outcome(2, "half", "quorate: error: words\n", 0.1, (), ()), "an error after output"),
        (Outcome(2, "", "quorate: error: words\n", 99, (), ()), "99 s"),
        (Outcome(2, "", "quorate: error: words\nhello\n", 0.1, (), ()), "other lines"),
    ],
)
def test_the_judge(outcome: Outcome, fault: str | None) -> None:
    """A judge that sees nothing would let everything pass."""
    found = faults(CASE, outcome)
    assert found == [] if fault is None else any(fault in text for text in found)


def test_the_corpus_is_large_and_varied() -> None:
    cases = read_corpus()
    assert len(cases) >= 800
    assert len({(tuple(case.run), str(case.files), case.input) for case in cases}) == len(cases)
    commands = {case.run[0] for case in cases if case.run}
    assert commands >= {"consensus", "score", "report", "place", "compare", "generate", "cluster", "methods", "demo"}


def test_the_page_tells_what_was_measured() -> None:
    """A page that was not written anew after a run or a new case is not true: python -m benchmarks.reliability page."""
    assert page.PAGE.read_text(encoding="utf-8") == page.text(page.read_results())
