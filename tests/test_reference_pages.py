"""The reference pages follow from the code: every public name has one, and its edit button leads to a file."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import quorate

ROOT = Path(__file__).parents[1]


@pytest.fixture
def extensions(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs" / "_extensions"), *sys.path])
    return import_module("reference_pages"), import_module("edit_links")


def test_no_public_name_is_left_without_a_group(extensions: tuple[Any, Any]) -> None:
    pages, _ = extensions
    groups = pages.grouped_names()
    assert "Other names" not in groups
    assert sorted(name for names in groups.values() for name in names) == sorted(set(quorate.__all__) - {"METHODS"})
    assert set(pages.MODULES) >= quorate._MODULES


def test_every_edit_button_leads_to_a_file(extensions: tuple[Any, Any]) -> None:
    pages, links = extensions
    names = [f"quorate.{name}" for name in pages.public_names()]
    names += [f"quorate.{module}.{name}" for module in pages.MODULES for name in pages._names_of(module)]
    names += [f"method-{name}" for name in quorate.METHODS] + list(links.OVERVIEWS)
    for name in names:
        source = links.source_of(links.FOLDER + name)
        assert source is not None
        assert (ROOT / source).is_file(), name
    assert links.source_of(f"{links.FOLDER}quorate.consensus") == "src/quorate/_consensus/consensus.py"
    assert links.source_of("how-to/weights") is None


def test_a_path_in_a_docstring_becomes_a_link(extensions: tuple[Any, Any]) -> None:
    pages, _ = extensions
    lines = ["See docs/trust.md, docs/decisions/0061-fair-agreement.md and mydocs/trust.md."]
    pages.link_pages(None, "function", "name", None, None, lines)
    assert lines == ["See :doc:`/trust`, :doc:`/decisions/0061-fair-agreement` and mydocs/trust.md."]
