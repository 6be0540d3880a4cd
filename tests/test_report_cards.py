"""The cards at the top of a report: each says whether its number is good or bad, and none praises noise."""

from __future__ import annotations

import numpy as np
import pytest
from ensembles import noisy_with_truth

from quorate import as_ensemble, consensus
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
    assert cards(subject_of(members[0], members))[0].cue == "not known how the labelling was made"
