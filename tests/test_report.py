"""The report: numbers that agree with the library's, texts that stay texts, one file that is there whole or not."""

from __future__ import annotations

import base64
import hashlib
import html
import itertools
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import pytest
from ensembles import noisy_with_truth

from quorate import as_ensemble, choose_k, compress, consensus, evaluate, nmi, report, save_labels, solve
from quorate._evaluation.scores import cluster_density
from quorate._trust.subject import subject_of
from quorate.reporting import slider as numbers
from quorate.reporting.points import headline, points

HOSTILE = [
    "<script>window.__pwned = 1</script>",
    "</script><script>window.__pwned = 2</script>",
    "<!--",
    "\"><img src=x onerror='window.__pwned = 3'>",
    "line\nbreak, and \"quotes\" & 'others'",
    "\u2028\u2029",
    "{{data}}",
    "emoji 🦊 ünïcode",
    "javascript:window.__pwned=4",
    "{a|rich}",
]


def hostile() -> tuple[Any, Any]:
    """Objects, members, labels and clusters all called names that would break a careless page."""
    n = len(HOSTILE)
    table = {name: [HOSTILE[(row // 2 + place // 5) % n] for row in range(n)] for place, name in enumerate(HOSTILE)}
    ensemble = as_ensemble(table, ids=np.array(HOSTILE, dtype=object), orientation="members")
    return np.array([HOSTILE[row // 4] for row in range(n)], dtype=object), ensemble


class Page:
    """What lies in a file that `report` wrote."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text(encoding="utf-8")
        self.data = json.loads(self._between('<script type="application/json" id="data">', "</script>"))
        self.words = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", self._between("<main>", "</main>"))).split())

    def _between(self, start: str, end: str) -> str:
        return self.text.split(start)[1].split(end)[0]


def unpack(entry: dict[str, Any]) -> Any:
    if "texts" in entry:
        return json.loads(zlib.decompress(base64.b64decode(entry["texts"])))
    data = np.frombuffer(zlib.decompress(base64.b64decode(entry["deflated"])), dtype=f"<u{entry['bytes']}")
    if "steps" not in entry:
        return data
    return np.cumsum([-(int(v) + 1) // 2 if v % 2 else int(v) // 2 for v in data]).tolist()


def stop_labels(page: Page, place: int) -> Any:
    entry = page.data["download"]["stops"][place]
    if "merged" in entry:
        return np.array(entry["merged"])[unpack(page.data["download"]["labels"]).astype(int) - 1]
    return unpack(entry).astype(int) - 1


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Page]:
    truth, labels = noisy_with_truth(0, 400, 4, 6, missing=0.1)
    ensemble = as_ensemble(labels, ids=[f"object {row}" for row in range(400)])
    result = consensus(ensemble, 4, method="kmeans", random_state=0)
    path = tmp_path_factory.mktemp("report") / "report.html"
    assert report(result, ensemble, path, truth=truth, random_state=0, title="Four kinds", command="do it") == path
    return result, ensemble, Page(path)


def test_words_and_facts(made: tuple[Any, Any, Page]) -> None:
    result, ensemble, page = made
    scores = evaluate(result, ensemble)
    for told in (
        "Four kinds",
        "6 clusterings of 400 objects, combined into one of 4 clusters",
        f"ANMI) of {scores.anmi:.2f}",
        f"the best single member one of {scores.agreement_best_member:.2f}",
        "No member stands apart.",
        "of the objects are placed right",
        "kmeans: k-means on label rows",
        "Seed 0",
        "do it",
        "consensus(ensemble, 4, method='kmeans', random_state=0)",
        "clear from 0.8",
    ):
        assert told in page.words
    assert f"<dd>{scores.agreement:.2f}</dd>" in page.text


def test_the_map_of_few_objects_is_their_co_association(tmp_path: Path) -> None:
    """Every object has a bin of its own, so that the map can be compared with all pairs, counted one by one."""
    truth, labels = noisy_with_truth(3, 90, 3, 5, missing=0.1)
    ensemble = as_ensemble(labels, ids=np.arange(90), weights=[1.0, 2.0, 1.0, 0.5, 1.0])
    page = Page(report(truth, ensemble, tmp_path / "r.html", numbers=None))
    maps = page.data["maps"]
    rows = np.array(maps["sample"], dtype=int)
    # objects with the same labels in the same cluster are told by the first of them
    objects_told, objects = (sorted(map(tuple, np.column_stack([truth, labels])[part])) for part in (rows, range(90)))
    assert objects_told == objects
    assert maps["sizes"] == [1] * maps["n"] == [1] * 90
    pairs = oracle.co_association(labels[rows], ensemble.weights)
    np.fill_diagonal(pairs, 1.0)
    assert unpack(maps["heat"]).reshape(90, 90) / 250 == pytest.approx(pairs, abs=0.002 + 1e-9)
    clusters = np.array(page.data["names"])[unpack(maps["stops"][0]["bins"]) - 1]
    assert clusters.tolist() == [str(label) for label in truth[rows]]
    assert np.count_nonzero(np.diff(truth[rows])) == 2, "the objects of a cluster must be side by side"
    said = unpack(maps["cells"]).reshape(5, 90).astype(int)
    names = np.array(["-1", *maps["labels"]])
    assert names[said].T.tolist() == labels[rows].astype(str).tolist()


def test_the_map_of_a_tree_is_in_the_order_of_its_leaves(tmp_path: Path) -> None:
    _, labels = noisy_with_truth(4, 60, 3, 5)
    result = consensus(as_ensemble(labels, ids=np.arange(60)), 3, method="eac")
    maps = Page(report(result, as_ensemble(labels, ids=np.arange(60)), tmp_path / "r.html", numbers=None)).data["maps"]
    leaves = [int(result.rows[int(row)]) for row in maps["sample"]]
    cluster = dict(zip(result.rows.tolist(), result.labels.tolist(), strict=True))
    order = [leaf for leaf, _ in itertools.groupby(leaves)]
    n_leaves = len(result.tree) + 1
    assert sorted(order) == list(range(n_leaves))
    position = {leaf: place for place, leaf in enumerate(order)}
    under = [{leaf} for leaf in range(n_leaves)]
    for left, right, *_ in result.tree:
        under.append(under[int(left)] | under[int(right)])
        places = [position[leaf] for leaf in under[-1]]
        # what the tree joins within a cluster is next to one another
        if len({cluster[leaf] for leaf in under[-1]}) == 1:
            assert max(places) - min(places) == len(places) - 1


def test_the_map_of_many_objects_keeps_the_means_of_clusters(made: tuple[Any, Any, Page]) -> None:
    """Bins hold several objects here; weighted by their pairs, they add up to the means between whole clusters."""
    result, ensemble, page = made
    maps = page.data["maps"]
    sizes, bins = np.array(maps["sizes"]), unpack(maps["stops"][page.data["own"]]["bins"]).astype(int) - 1
    assert len(sizes) == maps["n"] < 400
    assert np.bincount(bins, weights=sizes).tolist() == np.bincount(result.labels).tolist()
    rows = [int(name.split()[1]) for name in maps["sample"]]
    assert np.array_equal(result.labels[rows], bins)
    inside = result.labels[:, None] == np.arange(4)
    # the oracle is slow, and equal rows have equal entries
    distinct, where = np.unique(ensemble.labels, axis=0, return_inverse=True)
    pairs = np.asarray(oracle.co_association(distinct))[np.ix_(where.ravel(), where.ravel())]
    np.fill_diagonal(pairs, 0.0)
    sums = inside.T @ pairs @ inside
    heat = unpack(maps["heat"]).reshape(len(sizes), -1) / 250 * (np.outer(sizes, sizes) - np.diag(sizes))
    binned = bins[:, None] == np.arange(4)
    number = np.outer(inside.sum(axis=0), inside.sum(axis=0))
    assert binned.T @ heat @ binned / number == pytest.approx(sums / number, abs=0.002)
    said = unpack(maps["cells"]).reshape(ensemble.n_members, -1).astype(int) - 1 - ensemble.offsets[:-1, None]
    assert np.array_equal(np.maximum(said, -1), ensemble.labels[rows].T)


def test_stops_are_scored_and_keep_their_numbers(made: tuple[Any, Any, Page]) -> None:
    result, ensemble, page = made
    stops, own = page.data["stops"], page.data["own"]
    assert [stop["k"] for stop in stops] == [2, 3, 4, 5, 6, 7, 8]
    assert stops[own]["k"] == 4
    assert np.allclose(stops[own]["densities"], cluster_density(result, ensemble), atol=1e-6)
    for place, stop in enumerate(stops):
        assert sum(stop["sizes"]) == 400
        if place != own:
            labels = stop_labels(page, place)
            assert np.array_equal(np.unique(labels), stop["clusters"])
            again = consensus(ensemble, stop["k"], method="kmeans", random_state=0)
            assert stop["anmi"] == pytest.approx(evaluate(again, ensemble).anmi, abs=1e-6)
            assert evaluate(labels, ensemble, truth=again.labels).nmi == pytest.approx(1)
    # the clusters that are well apart keep the numbers they have in the consensus
    labels = stop_labels(page, own + 1)
    assert (labels == result.labels).mean() > 0.6


def test_members_and_histogram(made: tuple[Any, Any, Page]) -> None:
    result, ensemble, page = made
    members = page.data["members"]
    assert members["nmi"] == pytest.approx([nmi(result, labels) for labels in ensemble.labels.T], abs=1e-6)
    assert members["missing"] == pytest.approx((ensemble.labels < 0).mean(axis=0).tolist(), abs=1e-6)
    counts = np.array(page.data["histogram"]["counts"])
    assert counts.sum(axis=1).tolist() == np.bincount(result.labels).tolist()
    low = page.data["objects"]
    assert low["confidence"] == sorted(low["confidence"])
    assert len(low["id"]) == page.data["n_ambiguous"] == int((result.confidence < 0.6).sum())
    rows = [int(name.split()[1]) for name in low["id"]]
    assert low["cluster"] == result.labels[rows].tolist()
    assert low["known"] == (ensemble.labels[rows] >= 0).sum(axis=1).tolist()
    assert all(agree <= known for agree, known in zip(low["agree"], low["known"], strict=True))
    assert all(rival != own for rival, own in zip(low["rival"], low["cluster"], strict=True))


def test_labels_lie_in_the_page(made: tuple[Any, Any, Page]) -> None:
    result, ensemble, page = made
    download = page.data["download"]
    assert np.array_equal(unpack(download["labels"]).astype(int) - 1, result.labels)
    assert np.allclose(unpack(download["confidence"]) / 1e6, result.confidence, atol=1e-6)
    assert unpack(download["ids"]) == ensemble.object_ids.tolist()


class Scripts(HTMLParser):
    """Scripts as a browser finds them, and all attributes that could do harm."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, Any], str]] = []
        self.attributes: list[tuple[str, Any]] = []
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.attributes += attrs
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)

    def handle_endtag(self, tag: str) -> None:
        self.inside = False


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    labels, ensemble = hostile()
    path = report(labels, ensemble, tmp_path / "r.html", title=HOSTILE[1], command=HOSTILE[1])
    page = Page(path)
    found = Scripts(page.text)
    assert len(found.scripts) == 3
    assert "<script>window" not in page.text
    assert not [name for name, _ in found.attributes if name.startswith("on") or name == "src"]
    assert not re.search("[<>&\u2028\u2029]", found.scripts[1][1])
    assert page.data["members"]["names"] == HOSTILE
    assert page.data["names"][:3] == list(dict.fromkeys(labels.tolist()))
    assert set(page.data["maps"]["labels"]) == {name[:60] for column in ensemble.categories for name in column}
    assert unpack(page.data["download"]["ids"]) == HOSTILE


def test_only_the_scripts_of_the_page_may_run(made: tuple[Any, Any, Page]) -> None:
    page = made[2]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page.text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in policy[1].split("style-src")[0]
    for attributes, text in Scripts(page.text).scripts:
        if attributes.get("type") != "application/json":
            assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy[1]
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", page.text.split("<script>")[0])


def test_the_library_is_the_one_it_says() -> None:
    folder = Path(numbers.__file__).parent / "echarts"
    library = (folder / "echarts.min.js").read_bytes()
    assert hashlib.sha256(library).hexdigest() in (folder / "README.md").read_text()
    assert b"</script" not in library.lower()
    assert b"<!--" not in library
    assert "Apache License" in (folder / "LICENSE-echarts").read_text()


@pytest.mark.parametrize(
    ("result", "members"),
    [
        ([0, 1], [[0, 1], [0, 1]]),
        ([0], as_ensemble([[0, 0]], orientation="objects")),
        ([0, 0, 0], [[0, 0, 0], [0, 0, 1]]),
        ([0, 0, 1], {"only": [0, 0, 1]}),
        (["a", None, "b"], {"x": [0, 0, 1], "y": [0, None, 1]}),
        ([0, 0, 1, 1], {"a": [0, 1, None, None], "b": [None, None, 0, 1]}),
    ],
    ids=["two objects", "one object", "one cluster", "one member", "unlabelled", "nothing shared"],
)
def test_small_cases(tmp_path: Path, result: Any, members: Any) -> None:
    page = Page(report(result, members, tmp_path / "r.html"))
    assert sum(page.data["stops"][page.data["own"]]["sizes"]) == sum(label is not None for label in result)


def test_many_members_and_many_clusters(tmp_path: Path) -> None:
    ensemble = as_ensemble(noisy_with_truth(0, 120, 3, 310)[1], orientation="objects")
    # a quick method, because the comparison with chance repeats it
    quick = consensus(ensemble, 3, method="kmeans", n_init=1, random_state=0, confidence=False)
    page = Page(report(quick, ensemble, tmp_path / "m.html", numbers=None))
    assert page.data["members"]["n"] == 310
    assert len(page.data["members"]["names"]) == 300
    truth = np.arange(400) % 260
    page = Page(report(truth, [truth, truth], tmp_path / "k.html", numbers=None))
    assert page.data["maps"] is None
    assert len(page.data["stops"][0]["sizes"]) == 260


def test_rows_with_counts_tell_of_objects(tmp_path: Path) -> None:
    _, labels = noisy_with_truth(0, 500, 3, 3)
    rows, inverse = compress(as_ensemble(labels))
    result = solve(rows, 3, random_state=0)
    one = Page(report(result, rows, tmp_path / "rows.html", numbers=None)).data
    whole = consensus(labels, 3, random_state=0)
    assert np.array_equal(whole.labels, result.labels[inverse])
    other = Page(report(whole, labels, tmp_path / "all.html", numbers=None)).data
    for name in ("n_objects", "n_ambiguous", "histogram", "clusterConfidence"):
        assert one[name] == other[name]
    assert one["stops"][0]["sizes"] == other["stops"][0]["sizes"]
    assert unpack(one["maps"]["heat"]).tolist() == unpack(other["maps"]["heat"]).tolist()


@pytest.mark.parametrize("method", ["eac", "cspa", "kmeans", "bisecting", "voting"])
def test_every_kind_of_method(tmp_path: Path, method: str) -> None:
    _, labels = noisy_with_truth(0, 150, 3, 5)
    result = consensus(labels, 3, method=method, random_state=0)
    page = Page(report(result, labels, tmp_path / "r.html"))
    assert len(page.data["stops"]) > 1
    made_by = {"eac": "cutting the tree", "cspa": "merging the two clusters"}.get(method, f"({method}, seed 0)")
    assert made_by in page.words


def test_the_slider_takes_what_is_given(tmp_path: Path) -> None:
    truth, labels = noisy_with_truth(0, 90, 3, 5)
    result = consensus(labels, 3, random_state=0)
    assert len(Page(report(result, labels, tmp_path / "0.html", numbers=None)).data["stops"]) == 1
    page = Page(report(result, labels, tmp_path / "1.html", numbers=[2, 5]))
    assert [stop["k"] for stop in page.data["stops"]] == [2, 3, 5]
    page = Page(report(result, labels, tmp_path / "2.html", numbers={2: truth % 2, 3: result}))
    assert [stop["k"] for stop in page.data["stops"]] == [2, 3]
    assert "as they were given" in page.words
    choice = choose_k(labels, (2, 5), random_state=0)
    page = Page(report(result, labels, tmp_path / "3.html", choice=choice))
    assert page.data["choice"]["k"] == [2, 3, 4, 5]
    assert choice.reason.split(".")[0] in page.words


def test_merging_goes_by_co_association(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters 0 and 1, which one of two members does not tell apart, are the first to be merged."""
    monkeypatch.setattr(numbers, "SOLVED_WORK", 0)
    fine = np.repeat([0, 1, 2, 3], 5)
    page = Page(report(fine, [fine, np.repeat([0, 0, 1, 2], 5)], tmp_path / "r.html"))
    assert [stop["k"] for stop in page.data["stops"]] == [2, 3, 4]
    assert "merged" in page.data["download"]["stops"][1]
    labels = stop_labels(page, 1)
    assert evaluate(labels, [labels], truth=np.repeat([0, 0, 1, 2], 5)).nmi == 1


def test_the_verdict_follows_the_numbers() -> None:
    fine = np.repeat([0, 1, 2, 3], 25)
    same = subject_of(fine, [fine, fine, fine])
    assert headline(same) == "The members agree strongly: half of them are enough to find much the same clusters."
    assert "None of 100 objects is ambiguous" in _text(same, "Objects")
    assert _text(same, "Agreement").startswith("The members agree closely: two members have")
    assert _text(same, "Agreement").endswith("so they are not compared with it.")
    rng = np.random.default_rng(0)
    apart = subject_of(fine, {"a": fine, "b": fine, "c": fine, "odd one": rng.permutation(fine)})
    assert _text(apart, "Members").startswith("odd one (0.0")
    poor = subject_of(rng.permutation(fine), [fine, fine, fine])
    assert headline(poor).endswith("but these labels agree with them no more than by chance.")
    assert _text(poor, "Clusters") == "Of 4 clusters, all 4 are doubtful (3, 2, 0, 1)."
    single = subject_of(fine, {"a": fine})
    assert "only one member" in headline(single)
    assert [p.heading for p in points(single)] == ["Clusters", "Objects"]


def _text(subject: Any, heading: str) -> str:
    """The text of one point of the verdict."""
    return next(point.text for point in points(subject) if point.heading == heading)


def test_saved_labels_read_back(made: tuple[Any, Any, Page], tmp_path: Path) -> None:
    """The table that the page was made of and the page give the same file; the browser's tests compare its download."""
    result, _, page = made
    save_labels(tmp_path / "labels.csv", result)
    first = (tmp_path / "labels.csv").read_text().splitlines()[1]
    download = page.data["download"]
    name, label, sure = unpack(download["ids"])[0], unpack(download["labels"])[0] - 1, unpack(download["confidence"])[0]
    assert first == f"{name},{label},{sure / 1e6}"
