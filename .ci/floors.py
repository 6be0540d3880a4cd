"""Write pip constraints that pin every dependency of pyproject.toml to the lowest version that it declares.

Usage: python .ci/floors.py > constraints.txt; pip install -c constraints.txt -e ".[test]". Markers are kept, so that
one file serves every Python version. Only the standard library is needed, also on Python 3.10, which has no tomllib.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

REQUIREMENT = re.compile(
    r'^"(?P<name>[A-Za-z0-9_.-]+)(\[[a-z0-9,]*\])?>=(?P<floor>[0-9][0-9a-zA-Z.]*)\s*(?P<marker>;[^"]*)?"$'
)
# tools that no result depends on, and what is needed only to build or to check the code
NOT_TESTED = {"hatchling", "coverage", "ruff", "mypy", "pandas-stubs", "anndata"}


def floors(text: str) -> list[str]:
    """Return one line ``name==version; marker`` per requirement with a lower bound."""
    lines = []
    for entry in re.findall(r'"[A-Za-z][^"\n]*>=[^"\n]*"', text.split("[project.scripts]")[0]):
        match = REQUIREMENT.match(entry)
        if match is None:
            raise ValueError(f"{entry} must be a name, a lower bound and perhaps a marker, so that it can be pinned")
        if match["name"] in NOT_TESTED:
            continue
        marker = match["marker"].strip() if match["marker"] else ""
        lines.append(f"{match['name']}=={match['floor']}{marker}")
    return sorted(set(lines))


if __name__ == "__main__":
    sys.stdout.write("\n".join(floors(Path("pyproject.toml").read_text(encoding="utf-8"))) + "\n")
