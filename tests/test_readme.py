"""The README shell block runs as it stands; the README Python runs as doctest."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from quorate.cli import main

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def shell_commands() -> list[str]:
    blocks = re.findall(r"```bash\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [
        line.split("#")[0].strip() for block in blocks for line in block.splitlines() if line.startswith("quorate ")
    ]


def test_shell_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = shell_commands()
    assert len(commands) >= 4
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0, command


def test_every_link_leads_somewhere() -> None:
    n_links = 0
    for page in (README, ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            n_links += 1
            assert target.startswith(("http", "mailto")) or (page.parent / target).exists(), f"{page}: {target}"
    assert n_links > 10
