"""Write the table of methods in docs/methods.md anew from the register: `make methods`."""

from __future__ import annotations

import re
from pathlib import Path

from quorate import METHODS

PAGE = Path(__file__).with_name("methods.md")
HEAD = "| method | what it is | memory in rows | finds k | random | reference |"


def table() -> str:
    """One line per method of the register, in its order."""
    lines = [HEAD, "|---|---|---|---|---|---|"]
    for name, method in METHODS.items():
        finds, random = ("yes" if flag else "" for flag in (method.finds_k, method.stochastic))
        lines.append(f"| `{name}` | {method.title} | {method.memory} | {finds} | {random} | {method.reference} |")
    return "\n".join(lines) + "\n"


def renewed(page: str) -> str:
    """The page with its table replaced; everything around the table stays."""
    pattern = re.escape(HEAD) + r"\n(\|.*\n)+"
    if not re.search(pattern, page):
        raise ValueError(f"{PAGE.name} must hold a table that begins with the line {HEAD!r}; put that line back.")
    return re.sub(pattern, lambda _: table(), page, count=1)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
