"""The evidence beside the verdict: measured values beside those expected without structure, and candidates for k."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from quorate._summaries import CRITERIA, Candidate, Choice
from quorate._trust.agreement import Trust

WIDTH, ROW, LEFT, RIGHT = 640, 66, 24, 24
"""The size of the picture and of one of its rows, and the margins beside the scale, in pixels."""
ANMI_IN_WORDS = (
    "ANMI is the average, over the members, of their normalised mutual information with the consensus: 1 if all "
    "members are equal to it, about 0 if they have nothing in common with it."
)


class ExpectedAndMeasured(NamedTuple):
    """One row of the picture: a measured value beside what is expected, on a scale from `low` to `high`."""

    title: str
    measured: float
    expected: float
    low: float
    high: float
    digits: int


def comparisons(trust: Trust) -> list[ExpectedAndMeasured]:
    """Return the comparisons that were made: with permuted labels, and with measurements without clusters."""
    rows = []
    # a single cluster has an ANMI of 0 in any case, so that there is nothing to compare
    if trust.expected is not None and trust.adjusted is not None and trust.expected > 0:
        measured = trust.expected + trust.adjusted * (1 - trust.expected)
        title = "Agreement with the members (ANMI), compared with shuffled labels"
        rows.append(ExpectedAndMeasured(title, measured, trust.expected, 0.0, 1.0, 2))
    if trust.valley is not None and trust.expected_valley is not None:
        values = (trust.valley, trust.expected_valley)
        title = "Depth of the gaps between clusters, compared with measurements without clusters"
        rows.append(ExpectedAndMeasured(title, *values, min(0.0, *values), max(5.0, 1.15 * max(values)), 1))
    return rows


def null_picture(trust: Trust) -> str:
    """Return a picture of what was measured beside what is expected without structure, as SVG; empty without any."""
    rows = comparisons(trust)
    if not rows:
        return ""
    height = ROW * len(rows) + 6
    caption = "The open circle shows what to expect without any structure, the full one what was measured."
    if rows[0].high == 1.0:
        caption += f" {ANMI_IN_WORDS}"
    told = "; ".join(
        f"{row.title}: measured {row.measured:.{row.digits}f}, expected {row.expected:.{row.digits}f}" for row in rows
    )
    drawn = "".join(_row(row, ROW * place) for place, row in enumerate(rows))
    return (
        f'<figure class="nulls"><svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(told, quote=True)}">'
        f"{drawn}</svg><figcaption>{caption}</figcaption></figure>"
    )


def _row(row: ExpectedAndMeasured, top: int) -> str:
    """Return one scale with its two circles; the texts beside them never overlap, because they point away."""
    y = top + 40

    def x(value: float) -> float:
        share = (value - row.low) / (row.high - row.low)
        return LEFT + min(max(share, 0.0), 1.0) * (WIDTH - LEFT - RIGHT)

    measured, expected = x(row.measured), x(row.expected)
    is_above = row.measured >= row.expected
    return (
        f'<text x="{LEFT}" y="{top + 16}" class="title">{escape(row.title)}</text>'
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" class="scale"/>'
        f'<line x1="{expected:.1f}" x2="{measured:.1f}" y1="{y}" y2="{y}" class="gain"/>'
        f'<circle cx="{expected:.1f}" cy="{y}" r="6" class="expected"/>'
        f'<circle cx="{measured:.1f}" cy="{y}" r="6" class="measured"/>'
        f"{_value(expected, y, f'{row.expected:.{row.digits}f}', left=is_above)}"
        f"{_value(measured, y, f'{row.measured:.{row.digits}f}', left=not is_above)}"
    )


def _value(x: float, y: float, text: str, *, left: bool) -> str:
    """Return a number beside a circle: on its left or right side, or below it if there is no room."""
    if x < LEFT + 36 if left else x > WIDTH - RIGHT - 36:
        return f'<text x="{x:.1f}" y="{y + 20}" text-anchor="middle" class="value">{text}</text>'
    place, anchor = (x - 11, "end") if left else (x + 11, "start")
    return f'<text x="{place:.1f}" y="{y + 4}" text-anchor="{anchor}" class="value">{text}</text>'


def candidate_table(choice: Choice | None) -> str:
    """Return the candidates for the number of clusters with the evidence for each, as HTML; empty without a choice."""
    if choice is None:
        return ""
    told = f"<p>{escape(_told(choice))}</p>"
    by_number = {entry.n_clusters: entry for entry in choice.table}
    rows = "".join(_candidate(by_number[k], choice) for k in choice.candidates if k in by_number)
    if not rows:
        return f'<div class="candidates"><h2>How many clusters</h2>{told}</div>'
    columns = {"clusters": "", "probability": "", "support": "", "reasons": ' class="profile"'}
    head = "".join(f'<th scope="col"{style}>{name}</th>' for name, style in columns.items())
    return (
        f'<div class="candidates"><h2>How many clusters</h2>{told}<div class="scroll" tabindex="0" role="region" '
        f'aria-label="Candidates for the number of clusters"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></div>"
    )


def _told(choice: Choice) -> str:
    if not choice.candidates:
        return choice.reason
    if choice.undecided:
        return (
            f"The number of clusters is not clear: {choice.candidates[0]} or {choice.candidates[1]}. Look at both "
            "before you decide."
        )
    return f"{choice.candidates[0]} clusters have clearly more support than any other number."


def _candidate(entry: Candidate, choice: Choice) -> str:
    k = entry.n_clusters
    words = choice.evidence(k)
    spoken = _sentence("; ".join(words) if words else "best by no criterion, but close to the best by several")
    values = [
        f"{title}\u00a0{getattr(entry, name):.2f}"
        for name, title in CRITERIA.items()
        if getattr(entry, name) is not None
    ]
    mark = " (chosen)" if k == choice.n_clusters else ""
    probability = "" if entry.probability is None else f"{entry.probability:.0%}"
    support = f"{entry.support or 0.0:.0%}"
    return (
        f'<tr><th scope="row">{k}{mark}</th><td>{probability}</td><td>{support}</td>'
        f'<td class="profile">{escape(spoken)}<br><small>{escape(", ".join(values))}</small></td></tr>'
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
