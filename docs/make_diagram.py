"""Draw the decision diagram of docs/how-to/choose-a-method.md: `python docs/make_diagram.py`."""

from __future__ import annotations

from pathlib import Path

WIDTH, STEP, TOP = 820, 74, 16
# each question, the answer that leads to a method, and that method; the other answer leads to the next question
QUESTIONS = [
    ("Are the members soft (memberships)?", "yes", "kmeans"),
    ("Do you need a tree to cut anywhere?", "yes", "lwea or eac"),
    ("Must the clusters have equal sizes?", "yes", "cspa, or hbgf for many rows"),
    ("Do all members together have 2,000 to 20,000 clusters?", "yes", "transfer (auto takes it)"),
    ("Over 20,000, nearly all of them in a few members?", "yes", "transfer (auto takes it)"),
    ("Over 20,000, in most of the members?", "yes", "hbgf (auto takes it)"),
    ("Over 78% of labels missing, under 6 left per cluster?", "yes", "supra (auto takes it)"),
]
LAST = "lwgp (auto takes it)"


def diagram() -> str:
    """Return the diagram as SVG text: questions below one another, answers to the right."""
    height = TOP * 2 + STEP * len(QUESTIONS) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        'font-size="15">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#444"/></marker></defs>',
    ]
    for place, (question, answer, method) in enumerate(QUESTIONS):
        y = TOP + place * STEP
        parts += [
            _box(20, y, 420, question, "#e8f1f8"),
            _box(540, y, 260, method, "#e4f3e4"),
            _arrow(440, y + 20, 536, y + 20, answer, 474, y + 14),
            _arrow(230, y + 40, 230, y + STEP - 4, "no", 240, y + 60),
        ]
    parts += [_box(20, TOP + STEP * len(QUESTIONS), 420, LAST, "#e4f3e4"), "</svg>", ""]
    return "\n".join(parts)


def _box(x: int, y: int, width: int, text: str, fill: str) -> str:
    middle = x + width // 2
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="40" rx="6" fill="{fill}" stroke="#666"/>'
        f'<text x="{middle}" y="{y + 25}" text-anchor="middle" fill="#111">{text}</text>'
    )


def _arrow(x1: int, y1: int, x2: int, y2: int, text: str, text_x: int, text_y: int) -> str:
    return (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#444" marker-end="url(#tip)"/>'
        f'<text x="{text_x}" y="{text_y}" fill="#444">{text}</text>'
    )


if __name__ == "__main__":
    (Path(__file__).parent / "images" / "choose-a-method.svg").write_text(diagram(), encoding="utf-8")
