"""Write anew what pages and docstrings say about the methods, from the register and the imports: `make methods`.

It writes the table of docs/methods.md, the number of methods in the README, and in the docstring of each family of
solvers the methods that use each module.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import quorate
from quorate import METHODS

ROOT = Path(__file__).parents[1]
PACKAGE = Path(quorate.__file__).parent
FAMILIES = ("label_space", "linkage", "graphs", "spectral")
HEAD = "| method | what it is | memory in rows | finds k | random | reference |"
NOBODY = "no method directly"


def table() -> str:
    """One line per method of the register, in its order."""
    lines = [HEAD, "|---|---|---|---|---|---|"]
    for name, method in METHODS.items():
        finds, random = ("yes" if flag else "" for flag in (method.finds_k, method.stochastic))
        lines.append(f"| `{name}` | {method.title} | {method.memory} | {finds} | {random} | {method.reference} |")
    return "\n".join(lines) + "\n"


def with_table(page: str) -> str:
    """The page with its table replaced; everything around the table stays."""
    pattern = re.escape(HEAD) + r"\n(\|.*\n)+"
    if not re.search(pattern, page):
        raise ValueError(f"methods.md must hold a table that begins with the line {HEAD!r}; put that line back.")
    return re.sub(pattern, lambda _: table(), page, count=1)


def with_number(readme: str) -> str:
    """The README with the number of methods in the words "N methods in"."""
    return re.sub(r"\b\d+ methods in\b", f"{len(METHODS)} methods in", readme)


def solvers_used(method: str) -> set[str]:
    """Modules of quorate.solvers that the file of a method imports, as "family.module"."""
    names = set()
    text = (PACKAGE / "methods" / f"{method}.py").read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("quorate.solvers."):
            home = str(node.module).removeprefix("quorate.solvers.")
            names |= {f"{home}.{alias.name}" for alias in node.names} if home in FAMILIES else {home}
    return names


def with_users(family: str) -> Callable[[str], str]:
    """Replace the methods in "Used by ..." of each module of a family; other users stay behind a comma."""

    def users(match: re.Match[str]) -> str:
        module, others = match.group(2), [part for part in match.group(3).split(", ") if " " in part and part != NOBODY]
        methods = [name for name in METHODS if f"{family}.{module}" in solvers_used(name)]
        return f"{match.group(1)}{', '.join([*(methods or [NOBODY]), *others])}."

    def renewed(text: str) -> str:
        return re.sub(r"^(- `(\w+)`: .*?Used by )([^.]*)\.$", users, text, flags=re.MULTILINE)

    return renewed


def pages() -> dict[Path, Callable[[str], str]]:
    """Each file that says something about the methods, and how its text is renewed."""
    families = {PACKAGE / "solvers" / family / "__init__.py": with_users(family) for family in FAMILIES}
    return {ROOT / "docs" / "methods.md": with_table, ROOT / "README.md": with_number, **families}


if __name__ == "__main__":
    for path, renewed in pages().items():
        path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
