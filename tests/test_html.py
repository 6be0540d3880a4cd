"""What notebooks show: tables that say what is there, and nothing of the user's data unescaped."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np

from quorate import Consensus, as_ensemble, compress, consensus, evaluate


class Reader(HTMLParser):
    """Texts of the cells, row by row; checks that tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def test_ensemble() -> None:
    ensemble = as_ensemble({"web": ["a", "a", None], "shop": [7, 8, 8]}, ids=["x", "y", "z"], orientation="members")
    assert Reader(ensemble._repr_html_()).rows == [
        ["", "web", "shop"],
        ["x", "a", "7"],
        ["y", "a", "8"],
        ["z", "·", "8"],
    ]
    assert "Ensemble(3 objects, 2 members" in ensemble._repr_html_()


def test_large_ensemble_is_shortened() -> None:
    ensemble = as_ensemble(np.random.default_rng(0).integers(3, size=(1000, 30)))
    rows = Reader(ensemble._repr_html_()).rows
    assert len(rows) == 1 + 5 + 1
    assert all(len(row) == 1 + 12 + 1 for row in rows)
    assert len(ensemble._repr_html_()) < 5_000


def test_rows_with_counts() -> None:
    rows, _ = compress(as_ensemble([[0, 0, 0, 1], [0, 0, 0, 1]]))
    assert Reader(rows._repr_html_()).rows[:2] == [["", "member 0", "member 1", "objects"], ["0", "0", "0", "3"]]


def test_names_and_labels_are_escaped() -> None:
    evil = "<script>alert('x')</script>"
    ensemble = as_ensemble({evil: [evil, '"&"', evil], "b": [1, 2, 1]}, ids=[evil, "<b>", "'"], orientation="members")
    text = ensemble._repr_html_()
    assert "<script" not in text
    assert "<b>" not in text.replace("<p><b>", "")
    assert Reader(text).rows[0][1] == evil


def test_consensus() -> None:
    result = consensus([[0, 0, 1, 1, 1], [0, 0, 1, 1, 1]], 2)
    assert Reader(result._repr_html_()).rows == [
        ["cluster", "objects", "share", "mean confidence"],
        ["0", "2", "40.0%", "0.958"],
        ["1", "3", "60.0%", "0.960"],
    ]
    assert Reader(replace(result, confidence=None)._repr_html_()).rows[0] == ["cluster", "objects", "share"]
    many = Consensus(np.arange(500, dtype=np.int32), 0.0)
    assert len(Reader(many._repr_html_()).rows) == 1 + 20 + 1


def test_scores() -> None:
    rows = Reader(evaluate([0, 0, 1, 1], [[0, 0, 1, 1], [0, 0, 1, 2]])._repr_html_()).rows
    assert rows[:3] == [["score", "value"], ["n objects", "4"], ["n clusters", "2"]]
    assert ["anmi", "0.9082"] in rows
    assert not any(row[0] == "accuracy" for row in rows)
