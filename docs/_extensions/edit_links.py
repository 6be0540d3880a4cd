"""Let the edit button of generated reference pages lead to the code that holds their docstring."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

PACKAGE = "src/quorate"
FOLDER = "reference/generated/"
OVERVIEWS = {"api": "__init__.py", "methods": "methods/__init__.py", "shell": "cli/entry.py"}


def source_of(page: str) -> str | None:
    """Return the path in the repository of the code behind a generated page, or None for a page written by hand."""
    if not page.startswith(FOLDER):
        return None
    name = page.removeprefix(FOLDER)
    if name in OVERVIEWS:
        return f"{PACKAGE}/{OVERVIEWS[name]}"
    if name.startswith("method-"):
        return f"{PACKAGE}/methods/{name.removeprefix('method-')}.py"
    home, _, attribute = name.rpartition(".")
    module = importlib.import_module(home)
    thing = getattr(module, attribute)
    # a constant has no source of its own, but the module that exports it does
    file = inspect.getsourcefile(thing if callable(thing) else module)
    package = Path(inspect.getfile(importlib.import_module("quorate"))).parent
    return f"{PACKAGE}/{Path(str(file)).relative_to(package).as_posix()}"


def lead_to_source(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Replace the address of the edit button, which the theme made before this is called."""
    source = source_of(page)
    if source is not None:
        url = f"https://github.com/{context['github_user']}/{context['github_repo']}/edit/{context['github_version']}"
        context["get_edit_provider_and_url"] = lambda: ("GitHub", f"{url}/{source}")


def setup(app: Any) -> dict[str, Any]:
    app.connect("html-page-context", lead_to_source, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
