"""The words and the first table of the report: what clusters are made of, and sentences that suit the case at hand."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
from ensembles import noisy_with_truth
from test_report import Page, unpack

from quorate import as_ensemble, consensus, report
from quorate._trust.subject import subject_of
from quorate.reporting.figures import cluster_names
from quorate.reporting.points import points


def test_profiles_are_the_first_table(tmp_path: Path) -> None:
    segments = {"marketing": ["Deals", "Deals", "Deals", "Gold", "Gold"], "web": ["M", "M", "S", "S", None]}
    result = consensus(segments, 2, random_state=0).renamed({0: "Bargain hunters"})
    page = Page(report(result, segments, tmp_path / "r.html"))
    table = page.text.split("<table")[1].split("</table>")[0]
    words = " ".join(re.sub(r"<[^>]*>", " ", table).split())
    assert "Bargain hunters 3 60.0% marketing: Deals 100% (60% overall) , web: M 67% (50% overall)" in words
    assert "1 2 40.0% marketing: Gold 100% (40% overall) , web: S 100% (50% overall)" in words
    assert page.data["names"][:2] == ["Bargain hunters", "1"]


def test_commonest_labels_are_those_of_profiles() -> None:
    truth, labels = noisy_with_truth(0, 200, 4, 5, missing=0.3)
    found = subject_of(truth, labels).profiles
    for cluster, entries in enumerate(found.commonest()):
        every = found.of(cluster)
        first = {entry.member: entry for entry in reversed(every)}
        assert sorted(entries) == sorted(first.values())
        assert [entry.share for entry in entries] == sorted((entry.share for entry in entries), reverse=True)


def test_a_clear_cluster_with_most_ambiguous_objects_is_explained() -> None:
    fine = np.repeat([0, 1], 50)
    other = fine.copy()
    other[0] = 1
    subject = subject_of(fine, [fine, other, other])
    text = next(point.text for point in points(subject) if point.heading == "Objects")
    assert text.startswith(
        "1 of 100 objects (1%) is ambiguous: confidence below 0.6. The share is largest in cluster 0"
    )
    assert "It is clear all the same: that word goes by the mean confidence of all its objects, which is 0.9" in text
    doubtful = subject_of(np.arange(100) % 2, [fine, other, other])
    assert "all the same" not in next(point.text for point in points(doubtful) if point.heading == "Objects")


def test_orange_is_told_only_if_a_member_is_orange(tmp_path: Path) -> None:
    fine = np.repeat([0, 1, 2, 3], 25)
    plain = Page(report(fine, [fine, fine, fine], tmp_path / "plain.html"))
    assert "orange" not in plain.words
    assert plain.data["members"]["apart"] == []
    odd = np.random.default_rng(0).permutation(fine)
    page = Page(report(fine, {"a": fine, "b": fine, "c": fine, "odd": odd}, tmp_path / "odd.html"))
    assert "A member that stands apart is orange." in page.words
    assert page.data["members"]["apart"] == [3]


def test_labels_alone_say_that_their_method_is_not_known(tmp_path: Path) -> None:
    truth, labels = noisy_with_truth(0, 90, 3, 5)
    page = Page(report(truth, labels, tmp_path / "r.html"))
    assert "Method not known" in page.words
    assert "Seed not known" in page.words
    assert "because it is not known how the labels of this report were made: " in page.words
    assert "seed 0) with default options for each number. So these labellings may differ" in page.words


def test_the_seed_of_the_result_is_told(tmp_path: Path) -> None:
    _, labels = noisy_with_truth(0, 90, 3, 5)
    page = Page(report(consensus(labels, 3, method="kmeans", random_state=7), labels, tmp_path / "r.html"))
    assert "Seed 7" in page.words
    assert "(kmeans, seed 7)" in page.words
    assert "random_state=7" in page.words


def test_new_clusters_never_take_a_name_that_is_used() -> None:
    subject = subject_of(np.array(["new 1", "b", "new 3"], dtype=object), [[0, 1, 2], [0, 1, 1]])
    assert cluster_names(subject, 6) == ["new 1", "b", "new 3", "new 2", "new 4", "new 5"]
    assert cluster_names(subject_of([4, 7, 7], [[0, 1, 2], [0, 1, 1]]), 3) == ["4", "7", "8"]


def test_clusters_next_to_each_other_have_different_colours(tmp_path: Path) -> None:
    truth = np.arange(400) % 40
    page = Page(report(truth, [truth, truth], tmp_path / "r.html", numbers=None))
    bins = unpack(page.data["maps"]["stops"][0]["bins"]).astype(int) - 1
    order = [cluster for cluster, _ in itertools.groupby(bins.tolist())]
    shades = [page.data["colours"][cluster] for cluster in order]
    assert len(order) == 40
    assert all(len(set(shades[place : place + 14])) == 14 for place in range(27))


def test_stability_in_words() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [120, 80, 60])
    table = np.where(rng.random((260, 12)) < 0.3, rng.integers(3, size=(260, 12)), truth[:, None])
    ensemble = as_ensemble(table, orientation="objects")
    told = {}
    for k in (3, 5):
        subject = subject_of(consensus(ensemble, k, random_state=0), ensemble)
        told[k] = next(point.text for point in points(subject) if point.heading == "Stability")
    assert told[3].startswith("Of 3 clusters, all 3 are highly stable (0, 1, 2). Stability is how alike")
    assert "1 is highly stable (4), 1 is uncertain (2) and 3 are unstable (0, 1, 3). Stability" in told[5]
    alone = subject_of([0, 0, 0, 0], as_ensemble([[0, 0, 1, 1], [0, 1, 1, 1]]))
    assert not [point for point in points(alone) if point.heading == "Stability"]
