"""The page: a template filled in once, packed numbers and texts, tables and cards with every text escaped."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._evaluation.member_table import APART
from quorate._summaries import Choice, LabelShare
from quorate._trust.subject import Subject
from quorate._types import FloatArray, Json
from quorate._verdict import CLEAR as CLEAR_GRADE
from quorate._verdict import GRADES, NO_STRUCTURE, STRONG, is_unfair
from quorate.reporting.evidence import candidate_table, null_picture
from quorate.reporting.points import AGREEMENT, CLEAR, FAIR, SAME, Point

# Characters that could end a script element or a line of JavaScript, and their escapes in JSON.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_KINDS = (np.uint8, np.uint16, np.uint32)


def as_json(value: Any) -> str:
    """Return JSON that is safe inside a script element, whatever texts it contains; NaN and infinity become null."""
    text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A lone half of a surrogate pair, which a page cannot contain, becomes a question mark.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text.translate(_ESCAPES)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return round(value, 6) if abs(value) < float("inf") else None
    return value


def packed(values: NDArray[Any]) -> dict[str, Any]:
    """Encode integers from 0 on in as few bytes as they need, deflated and little-endian, as report.js reads them."""
    flat = np.ascontiguousarray(values).reshape(-1)
    most = int(flat.max(initial=0))
    kind = next(kind for kind in _KINDS if most <= np.iinfo(kind).max)
    data = flat.astype(np.dtype(kind).newbyteorder("<")).tobytes()
    return {"bytes": np.dtype(kind).itemsize, "deflated": _deflated(data)}


def packed_shares(values: NDArray[np.float64]) -> dict[str, Any]:
    """Encode numbers from 0 to 1 in steps of 1/250, and 255 for no number; 0.004 is finer than a shade can show."""
    levels = np.where(np.isfinite(values), np.rint(np.nan_to_num(values) * 250), 255)
    return packed(levels.astype(np.int64))


def packed_texts(texts: list[str]) -> dict[str, Any]:
    """Encode a list of texts as deflated JSON, because ids may contain anything, even line breaks."""
    data = json.dumps(texts, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return {"texts": _deflated(data)}


def packed_ids(ids: NDArray[Any]) -> dict[str, Any]:
    """Encode ids in the shorter of two ways: integers by their differences, everything else as texts."""
    whole = _whole_numbers(ids)
    if whole is None:
        return packed_texts([str(value) for value in ids.tolist()])
    steps = np.diff(whole, prepend=0)
    # Zigzag coding makes a negative step a small number too.
    zigzag = np.where(steps < 0, -2 * steps - 1, 2 * steps)
    return packed_texts([]) if not len(ids) else {**packed(zigzag), "steps": True}


def _whole_numbers(ids: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return ids as integers, or None if that is not possible.

    It is possible if writing the integers gives the same ids and the steps between them fit into 32 bits.
    """
    texts = [str(value) for value in ids.tolist()]
    if not all(text.lstrip("-").isdecimal() and len(text) <= 10 and text.isascii() for text in texts):
        return None
    numbers = np.array([int(text) for text in texts], dtype=np.int64)
    alike = all(str(number) == text for number, text in zip(numbers.tolist(), texts, strict=True))
    return numbers if alike and int(np.abs(numbers).max(initial=0)) < 2**29 else None


def _deflated(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 6)).decode("ascii")


def characters_of(entry: Json) -> int:
    """Return the number of characters that an entry takes in the page."""
    return sum(len(value) for value in entry.values() if isinstance(value, str))


ROWS_OF_TABLES = 400
"""The largest number of clusters and of members in the tables."""
MEMBERS_TOLD = 4
"""The number of members whose commonest label is written into the profile of a cluster."""
NAME_LENGTH = 40
"""The number of characters of a member's name or label that a profile shows."""
NONE = "\u2013"
"""The character shown for a number that does not exist."""


def largest_clusters(subject: Subject) -> list[int]:
    """Return the clusters in the order of the tables: the largest first, as many as a table has rows."""
    order = sorted(range(subject.n_clusters), key=lambda cluster: (-int(subject.labelled.sizes[cluster]), cluster))
    return order[:ROWS_OF_TABLES]


def profile_table(subject: Subject, shades: Sequence[str]) -> str:
    """Return the rows that say what each cluster is made of."""
    commonest, total = subject.profiles.commonest(), int(subject.labelled.sizes.sum())
    rows = []
    for cluster in largest_clusters(subject):
        size = int(subject.labelled.sizes[cluster])
        rows.append(
            f"<tr>{_head(subject, cluster, shades)}<td>{size:,}</td><td>{size / total:.1%}</td>"
            f'<td class="profile">{_profile(commonest[cluster])}</td></tr>'
        )
    return "".join(rows) + _more(subject.n_clusters - ROWS_OF_TABLES, 4, "clusters")


def _profile(labels: Sequence[LabelShare]) -> str:
    told = [
        f'<span class="label-share">{_short(entry.member)}: <b>{_short(entry.label)}</b> {entry.share:.0%} '
        f"<small>({entry.overall:.0%} overall)</small></span>"
        for entry in labels[:MEMBERS_TOLD]
    ]
    more = len(labels) - len(told)
    return ", ".join(told) + (f" <small>and {more:,} more {'member' if more == 1 else 'members'}</small>" * (more > 0))


def cluster_table(subject: Subject, shades: Sequence[str]) -> str:
    """Return the rows with size, confidence, stability and density of each cluster."""
    total = int(subject.labelled.sizes.sum())
    rows = []
    for cluster in largest_clusters(subject):
        size = int(subject.labelled.sizes[cluster])
        rows.append(
            f"<tr>{_head(subject, cluster, shades)}<td>{size:,}</td><td>{size / total:.1%}</td>"
            f"<td>{subject.cluster_confidence[cluster]:.2f}</td><td>{_two_digits(subject.cluster_stability[cluster])}</td>"
            f"<td>{subject.densities[cluster]:.2f}</td></tr>"
        )
    return "".join(rows) + _more(subject.n_clusters - ROWS_OF_TABLES, 6, "clusters")


SECOND = 2
"""How many other clusters the table of memberships names for each cluster."""


def membership_table(subject: Subject, memberships: FloatArray | None, shades: Sequence[str]) -> str:
    """Return what objects of each cluster may belong to instead, as a part of the page; empty if it is not known."""
    if memberships is None:
        return ""
    counts = np.where(subject.labels >= 0, subject.ensemble.counts, 0)
    rows = []
    for cluster in largest_clusters(subject):
        own = subject.labels == cluster
        mean = np.average(memberships[own], axis=0, weights=counts[own])
        expected = float(memberships[:, cluster] @ counts)
        others = [other for other in np.argsort(-mean, kind="stable").tolist() if other != cluster][:SECOND]
        told = ", ".join(f"{cluster_span(other, subject.names[other])} {mean[other]:.1%}" for other in others)
        rows.append(
            f"<tr>{_head(subject, cluster, shades)}<td>{int(subject.labelled.sizes[cluster]):,}</td>"
            f'<td>{expected:,.1f}</td><td>{mean[cluster]:.1%}</td><td class="profile">{told}</td></tr>'
        )
    body = "".join(rows) + _more(subject.n_clusters - ROWS_OF_TABLES, 5, "clusters")
    return folded(
        "Memberships",
        ("cluster", "objects", "expected", "its own", "other clusters"),
        body,
        f"Of the consensus of {_number(subject.n_clusters, 'cluster')}, wherever the slider is. Each object belongs to "
        "its cluster with the probability that is its confidence, and to the others with what is left. Expected is the "
        "sum of these probabilities over all objects; the shares are means over the objects of a cluster. "
        "Consensus.memberships gives the table of all objects.",
    )


def folded(title: str, head: Sequence[str], body: str, words: str, picture: str = "") -> str:
    """Return a part of the page that is folded until it is clicked: words, perhaps a picture, and a table."""
    columns = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    return (
        f'<details><summary>{escape(title)}</summary><p class="caption">{escape(words)}</p>{picture}'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(title)}">'
        f"<table><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table></div></details>"
    )


def _two_digits(value: float) -> str:
    return NONE if value != value else f"{value:.2f}"


def member_table(subject: Subject) -> str:
    """Return the rows with clusters, missing labels, weight and NMI of each member."""
    ensemble, rows = subject.ensemble, []
    for member in range(min(ensemble.n_members, ROWS_OF_TABLES)):
        value = subject.member_nmi[member]
        rows.append(
            f'<tr><th scope="row">{escape(ensemble.member_names[member])}</th>'
            f"<td>{int(ensemble.n_clusters[member]):,}</td><td>{subject.missing[member]:.1%}</td>"
            f"<td>{ensemble.weights[member]:g}</td><td>{NONE if value != value else format(value, '.3f')}</td></tr>"
        )
    return "".join(rows) + _more(ensemble.n_members - ROWS_OF_TABLES, 5, "members")


def cluster_span(cluster: int, name: str) -> str:
    """Return the name of a cluster, marked so that the script can change it when the cluster is renamed."""
    return f'<span data-cluster="{cluster}">{escape(name)}</span>'


def _head(subject: Subject, cluster: int, shades: Sequence[str]) -> str:
    swatch = f'<span class="swatch" data-swatch="{cluster}" style="background:{shades[cluster]}"></span>'
    return f'<th scope="row">{swatch}{cluster_span(cluster, subject.names[cluster])}</th>'


def _short(value: object) -> str:
    text = str(value)
    return escape(text if len(text) <= NAME_LENGTH else text[: NAME_LENGTH - 1] + "…")


def _more(count: int, columns: int, noun: str) -> str:
    return "" if count <= 0 else f'<tr><td colspan="{columns}">and {count:,} more {noun}</td></tr>'


GOOD, MIDDLING, BAD, OPEN = "good", "middling", "bad", "open"
"""The tones of a card; "open" where nothing can be said."""
MARKS = {GOOD: "▲", MIDDLING: "●", BAD: "▼", OPEN: "○"}
"""The shapes beside the words, so that nobody depends on the colour."""
FEW, MANY = 0.1, 0.3
"""Ambiguous objects are few below the first share, and many from the second on."""
NOT_TESTED = "not compared with chance"
NOT_MADE = "not known from labels alone; quorate consensus --report, or report(result, ...), shows it"
NOT_REPEATED = "the consensus cannot be repeated without some of its members"


class NumberCard(NamedTuple):
    """A number, what it is, and what it says, with a tone."""

    value: str
    name: str
    cue: str
    tone: str


def cards(subject: Subject) -> list[NumberCard]:
    """Return the cards; none of them praises a labelling that is no better than chance."""
    found = [_agreement(subject), _beyond_chance(subject), _clusters(subject), _ambiguous(subject)]
    if subject.verdict.grade != NO_STRUCTURE:
        return found
    return [card._replace(tone=BAD) if card.tone in (GOOD, MIDDLING) else card for card in found]


def cards_html(subject: Subject) -> str:
    """Return the cards as the entries of a definition list."""
    return "".join(
        f'<div class="{card.tone}"><dd>{escape(card.value)}</dd><dt>{escape(card.name)}</dt>'
        f'<dd class="cue"><span aria-hidden="true">{MARKS[card.tone]}</span> {escape(card.cue)}</dd></div>'
        for card in cards(subject)
    )


def _agreement(subject: Subject) -> NumberCard:
    name = "agreement with members left out"
    agreement, best = subject.trust.agreement, subject.trust.agreement_best_member
    if agreement is None or best is None:
        return NumberCard(NONE, name, NOT_MADE if subject.result is None else NOT_REPEATED, OPEN)
    if subject.verdict.grade == NO_STRUCTURE:
        return NumberCard(f"{agreement:.2f}", name, "no evidence of structure", BAD)
    if agreement > best + SAME:
        return NumberCard(f"{agreement:.2f}", name, f"better than the best member, {best:.2f}", GOOD)
    if agreement >= best - SAME:
        return NumberCard(f"{agreement:.2f}", name, "as good as the best member", MIDDLING)
    if is_unfair(agreement, best, subject.trust.more_clusters):
        return NumberCard(f"{agreement:.2f}", name, f"best member {best:.2f}, but members have more clusters", MIDDLING)
    return NumberCard(f"{agreement:.2f}", name, f"below the best member, {best:.2f}", BAD)


def _beyond_chance(subject: Subject) -> NumberCard:
    name = "agreement beyond chance, 0 to 1"
    grade, adjusted = subject.verdict.grade, subject.trust.adjusted
    value = NONE if adjusted is None else f"{adjusted:.2f}"
    if grade not in GRADES:
        return NumberCard(value, name, NOT_TESTED, OPEN)
    return NumberCard(value, name, grade, GOOD if grade == STRONG else MIDDLING if grade == CLEAR_GRADE else BAD)


def _clusters(subject: Subject) -> NumberCard:
    name = "cluster" if subject.n_clusters == 1 else "clusters"
    if subject.n_clusters == 1:
        return NumberCard("1", name, "no borders to judge", OPEN)
    values = subject.cluster_confidence
    counts = {
        "clear": int(np.sum(values >= CLEAR)),
        "fair": int(np.sum((values >= FAIR) & (values < CLEAR))),
        "doubtful": int(np.sum(values < FAIR)),
    }
    told = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
    tone = BAD if counts["doubtful"] else MIDDLING if counts["fair"] else GOOD
    return NumberCard(f"{subject.n_clusters:,}", name, told, tone)


def _ambiguous(subject: Subject) -> NumberCard:
    low = subject.confidence[subject.known] < subject.ambiguous
    counts = subject.ensemble.counts[subject.known]
    n_low, n_known = int(counts[low].sum()), int(counts.sum())
    name = "ambiguous object" if n_low == 1 else "ambiguous objects"
    if subject.n_clusters == 1:
        return NumberCard(f"{n_low:,}", name, "there is no other cluster", OPEN)
    share = n_low / max(n_known, 1)
    tone, word = (GOOD, "few") if share < FEW else (MIDDLING, "some") if share < MANY else (BAD, "many")
    percentage = "none" if not n_low else f"{word}: {share:.0%} of all" if share >= 0.01 else f"{word}: below 1%"
    return NumberCard(f"{n_low:,}", name, percentage, tone)


NUMBERS = "The numbers"
"""The heading of what follows the first page."""
SCRIPTS = ("data.js", "charts.js", "maps.js", "bars.js", "objects.js", "naming.js", "report.js")
"""Our own scripts, in their order in the page; each can use the functions of those before it."""


def page(
    subject: Subject,
    *,
    title: str,
    headline: str,
    points: Sequence[Point],
    facts: Mapping[str, str],
    redo: Mapping[str, str],
    data: Json,
    made_by: str,
    trees: str = "",
    choice: Choice | None = None,
    memberships: FloatArray | None = None,
    front: str = "",
) -> str:
    """Return the whole text of the file."""
    scripts = [_asset("echarts/echarts.min.js"), _our_script()]
    # The template is filled in one pass, so that a text that looks like one of its places is not replaced.
    return _filled(
        _asset("assets/page.html"),
        {
            "policy": _policy(scripts),
            "title": escape(title),
            "front": front,
            # the first page has the title already
            "heading": f"<h2>{escape(NUMBERS)}</h2>" if front else f"<h1>{escape(title)}</h1>",
            "style": _asset("assets/report.css"),
            "subtitle": escape(_subtitle(subject)),
            "headline": escape(headline),
            "nulls": null_picture(subject.trust),
            "candidates": candidate_table(choice),
            "cards": cards_html(subject),
            "points": "".join(map(_verdict_point, points)),
            "thresholds": escape(_thresholds(subject)),
            "own_only": escape(f"the consensus of {_number(subject.n_clusters, 'cluster')}"),
            "profiles": profile_table(subject, data["colours"]),
            "made_by": escape(made_by),
            "clusters": cluster_table(subject, data["colours"]),
            "memberships": membership_table(subject, memberships, data["colours"]),
            "trees": trees,
            "members": member_table(subject),
            "grey": "Grey is a missing label." if subject.missing.any() else "",
            "orange": "A member that stands apart is orange." if len(data["members"]["apart"]) else "",
            "facts": "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items()),
            "redo": "".join(_code(name, text) for name, text in redo.items()),
            "library": scripts[0],
            "data": as_json(data),
            "script": scripts[1],
        },
    )


@cache
def _asset(name: str) -> str:
    return files("quorate.reporting").joinpath(name).read_text(encoding="utf-8")


def _our_script() -> str:
    parts = "\n".join(_asset(f"assets/{name}") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();'


def _policy(scripts: Iterable[str]) -> str:
    """Return a policy under which nothing may be fetched and no script except these may run."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _filled(template: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda place: values[place[1]], template)


def _subtitle(subject: Subject) -> str:
    ensemble = subject.ensemble
    return (
        f"{_number(ensemble.n_members, 'clustering')} of {_number(ensemble.n_objects, 'object')}, combined into one of "
        f"{_number(subject.n_clusters, 'cluster')}"
    )


def _verdict_point(point: Point) -> str:
    parts = point.parts or (point.text,)
    text = "".join(escape(part) if isinstance(part, str) else cluster_span(*part) for part in parts)
    return f"<dt>{escape(point.heading)}</dt><dd>{text}</dd>"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _thresholds(subject: Subject) -> str:
    words = ", ".join(f"“{word}” from {least:g}" for least, word in AGREEMENT)
    source = "that of the result" if subject.has_own_confidence else "estimated for this report"
    return (
        f"The words are chosen by these limits. Members, by the mean NMI of two members: {words}. Clusters, by mean "
        f"confidence: clear from {CLEAR:g}, fair from {FAIR:g}, doubtful below. An object is ambiguous if its "
        f"confidence is below {subject.ambiguous:g}; such objects are few below {FEW:.0%} and many from {MANY:.0%} on. "
        f"A member stands apart if its NMI with the consensus is below {APART:g} times "
        f"the median of all members. Confidence ({source}) is the estimated probability that the same "
        f"procedure would place the object in the same cluster on a fresh ensemble. Co-association is the share of "
        f"the members that put two objects together. NMI is 1 for equal partitions and 0 for independent ones. "
        f"These limits are conventions, not tests of significance."
    )


def _code(name: str, text: str) -> str:
    return (
        f'<div class="code"><h3>{escape(name)}</h3><button type="button" class="copy">Copy</button>'
        f"<pre><code>{escape(text)}</code></pre></div>"
    )
