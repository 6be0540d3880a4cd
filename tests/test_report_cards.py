"""The cards at the top of a report: each says whether its number is good or bad, and none praises noise."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from ensembles import noisy_with_truth

from quorate import as_ensemble, as_soft_ensemble, consensus, report
from quorate._trust.subject import subject_of
from quorate.reporting.page import BAD, GOOD, MIDDLING, OPEN, NumberCard, cards, cards_html


def _random(seed: int, n_members: int, k: int) -> list[NumberCard]:
    labels = np.random.default_rng(seed).integers(0, k, size=(300, n_members))
    ensemble = as_ensemble(labels, orientation="objects")
    return cards(subject_of(consensus(ensemble, k, random_state=seed), ensemble))


@pytest.mark.parametrize("seed", range(5))
def test_random_labels_are_never_praised(seed: int) -> None:
    made = _random(seed, 3 + 3 * seed, 2 + seed)
    assert {card.tone for card in made} <= {BAD, OPEN}
    assert "better" not in " ".join(card.cue for card in made)


def test_unanimous_members_are_good() -> None:
    members = [np.repeat([0, 1, 2], 40)] * 6
    made = cards(subject_of(consensus(members, 3, random_state=0), members))
    assert [card.tone for card in made] == [MIDDLING, GOOD, GOOD, GOOD]
    assert [card.cue for card in made] == ["as good as the best member", "strong structure", "3 clear", "none"]


def test_every_card_has_a_word_and_a_mark() -> None:
    ensemble = as_ensemble(noisy_with_truth(0, 400, 4, 8, 0.3)[1], orientation="objects")
    subject = subject_of(consensus(ensemble, 4, random_state=0), ensemble)
    assert all(card.cue and card.value and card.name for card in cards(subject))
    page = cards_html(subject)
    assert page.count('class="cue"') == page.count("<dt>") == len(cards(subject)) == 4


def test_one_cluster_has_nothing_to_judge() -> None:
    members = [np.repeat([0, 1, 2], 40)] * 3
    made = cards(subject_of(np.zeros(120, dtype=int), members))
    assert [card.tone for card in made][2:] == [OPEN, OPEN]
    assert made[2].name == "cluster"


def test_labels_of_unknown_origin_say_so() -> None:
    members = [np.repeat([0, 1, 2], 40)] * 3
    assert "quorate consensus --report" in cards(subject_of(members[0], members))[0].cue


# memberships and trees, each a table that can be unfolded


def rows_of(path: Path, title: str) -> list[list[str]]:
    """The cells of the table under a title; none if the page has no such table."""
    text = path.read_text(encoding="utf-8")
    found = re.search(rf"<summary>{title}</summary>.*?<tbody>(.*?)</tbody>", text, re.DOTALL)
    if found is None:
        return []
    rows = re.findall(r"<tr.*?>(.*?)</tr>", found[1], re.DOTALL)
    return [[re.sub("<.*?>", "", cell) for cell in re.findall(r"<t[dh].*?>(.*?)</t[dh]>", row)] for row in rows]


def test_memberships_stand_beside_the_clusters(tmp_path: Path) -> None:
    _, labels = noisy_with_truth(1, 300, 3, 8, noise=0.3)
    ensemble = as_ensemble(labels, orientation="objects")
    result = consensus(ensemble, 3, random_state=0)
    table = rows_of(report(result, ensemble, tmp_path / "r.html", numbers=None), "Memberships")
    shares = result.memberships(ensemble)
    assert len(table) == 3
    for cells in table:
        cluster = int(cells[0])
        own = result.labels == cluster
        assert int(cells[1]) == own.sum()
        assert float(cells[2]) == pytest.approx(shares[:, cluster].sum(), abs=0.06)
        assert cells[3] == f"{shares[own].mean(axis=0)[cluster]:.1%}"
        second = np.argsort(-shares[own].mean(axis=0), kind="stable")[1]
        assert cells[4].startswith(f"{second} {shares[own].mean(axis=0)[second]:.1%}")
    plain = consensus(ensemble, 3, random_state=0, confidence=False)
    assert rows_of(report(plain, ensemble, tmp_path / "p.html", numbers=None), "Memberships") == []
    assert rows_of(report(result.labels, ensemble, tmp_path / "l.html", numbers=None), "Memberships") == []


def test_soft_members_have_a_report(tmp_path: Path) -> None:
    _, labels = noisy_with_truth(2, 200, 3, 6, noise=0.3)
    soft = as_soft_ensemble([np.eye(3)[column] * 0.7 + 0.1 for column in labels.T])
    result = consensus(soft, 3, random_state=0)
    path = report(result, soft, tmp_path / "r.html", numbers=None)
    assert "6 clusterings of 200 objects" in path.read_text(encoding="utf-8")
    expected = sorted(float(cells[2]) for cells in rows_of(path, "Memberships"))
    assert expected == pytest.approx(sorted(result.memberships(soft).sum(axis=0)), abs=0.06)


@pytest.mark.parametrize("method", ["eac", "bisecting"])
def test_a_tree_shows_how_it_comes_apart(tmp_path: Path, method: str) -> None:
    _, labels = noisy_with_truth(3, 200, 3, 6, noise=0.2)
    ensemble = as_ensemble(labels, orientation="objects")
    options = {"grow": 9} if method == "bisecting" else {}
    result = consensus(ensemble, 3, method=method, random_state=0, **options)
    table = rows_of(report(result, ensemble, tmp_path / "r.html"), "How the tree comes apart")
    wanted = result.splits(len(table))
    assert [[int(cell.replace(",", "")) for cell in cells[:4]] for cells in table] == [list(one[:4]) for one in wanted]
    again = report(result.cut(5), ensemble, tmp_path / "c.html")
    assert len(rows_of(again, "How the tree comes apart")) >= 8
    assert '<tr class="own"><th scope="row">5</th>' in again.read_text(encoding="utf-8")
    other = consensus(ensemble, 3, method="kmeans", random_state=0)
    assert rows_of(report(other, ensemble, tmp_path / "k.html", numbers=None), "How the tree comes apart") == []
