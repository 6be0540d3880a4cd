"""The page: a template that is filled in once, with every text escaped and every script allowed by its hash."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from quorate._consensus.choice import Choice
from quorate._evaluation.member_table import APART
from quorate._evaluation.subject import Subject
from quorate.reporting.cards import FEW, MANY, cards_html
from quorate.reporting.evidence import candidate_table, null_picture
from quorate.reporting.html_tables import cluster_span, cluster_table, member_table, profile_table
from quorate.reporting.pack import as_json
from quorate.reporting.verdict import AGREEMENT, CLEAR, FAIR, Point

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
    data: Mapping[str, Any],
    made_by: str,
    choice: Choice | None = None,
) -> str:
    """Return the whole text of the file."""
    scripts = [_asset("echarts/echarts.min.js"), _our_script()]
    # The template is filled in one pass, so that a text that looks like one of its places is not replaced.
    return _filled(
        _asset("assets/page.html"),
        {
            "policy": _policy(scripts),
            "title": escape(title),
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
