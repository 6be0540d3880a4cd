"""Write the reference pages that follow from the code: public names, methods, the shell tool, file formats, errors.

The pages are written to docs/reference/generated before the site is built; they are not part of the repository.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
from pathlib import Path
from typing import Any

GROUPS = {
    "Tables of labels": (
        "as_ensemble",
        "join",
        "load_labels",
        "save_ensemble",
        "as_soft_ensemble",
        "harden",
        "compress",
        "merge",
    ),
    "Consensus": (
        "consensus",
        "solve",
        "choose_k",
        "refine",
        "camps",
        "place",
        "update",
        "divide",
        "coarsen",
        "ca_tree",
    ),
    "Clusterings from measurements": ("generate", "prototypes"),
    "Estimators for scikit-learn": ("ConsensusClustering", "EnsembleClustering", "scorer"),
    "How good is it": (
        "evaluate",
        "compare",
        "over_k",
        "resolutions",
        "members",
        "memberships",
        "profiles",
        "explain",
        "rules",
        "agreed_names",
        "co_association",
        "linkage",
        "recut",
        "splits",
        "significant_splits",
        "nmi",
        "ari",
        "ami",
        "anmi",
        "accuracy",
        "jaccard",
        "fowlkes_mallows",
        "variation_of_information",
        "element_similarity",
        "element_similarities",
        "density",
    ),
    "Long work": ("progress",),
    "Results and files": ("save_labels", "save_consensus", "load_consensus", "save_model", "load_model", "report"),
    "Types": (
        "Ensemble",
        "SoftEnsemble",
        "Consensus",
        "Scores",
        "Method",
        "CATree",
        "Camp",
        "CoAssociation",
        "SplitTree",
        "TreeSplit",
    ),
}
INTERNAL = ("card", "compressed", "is_proven", "remember")
"""Attributes that modules of Quorate use among themselves."""
MODULES = ("plot", "generation", "stream", "dask", "anndata", "datasets")


def public_names() -> list[str]:
    import quorate

    return [name for name in quorate.__all__ if name != "METHODS"]


def grouped_names() -> dict[str, list[str]]:
    """Return every public name under its heading; names that no group has come last, so that none is forgotten."""
    known = {name for names in GROUPS.values() for name in names}
    groups = {title: [name for name in names if name in public_names()] for title, names in GROUPS.items()}
    others = [name for name in public_names() if name not in known]
    return {**groups, **({"Other names": others} if others else {})}


def name_page(module: str, name: str) -> str:
    """Return the page of one public name."""
    import importlib

    thing = getattr(importlib.import_module(module), name)
    title = f"{module}.{name}"
    lines = [f"# {title}", "", "```{eval-rst}", f".. currentmodule:: {module}", ""]
    if inspect.isclass(thing):
        lines += [f".. autoclass:: {name}", "   :members:", *_inherited(thing)]
    elif callable(thing):
        lines += [f".. autofunction:: {name}"]
    else:
        lines += [f".. autodata:: {name}", "   :no-value:"]
    return "\n".join([*lines, "```", ""])


def _inherited(thing: type) -> list[str]:
    """Return the options that also show what a class inherits, but only from classes of Quorate."""
    others = [base.__name__ for base in thing.__mro__ if not base.__module__.startswith("quorate")]
    return [f"   :inherited-members: {', '.join(others)}", f"   :exclude-members: {', '.join(INTERNAL)}"]


def link_pages(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn a path such as docs/trust.md in a docstring into a link with the title of the page."""
    lines[:] = [re.sub(r"(?<![\w/])docs/([a-z0-9/-]+)\.md", r":doc:`/\1`", line) for line in lines]


def api_index() -> str:
    lines = ["# Python", "", "Every public name, with its docstring.", ""]
    for title, names in grouped_names().items():
        lines += [f"## {title}", "", *_listing("quorate", names)]
    for module in MODULES:
        lines += [f"## quorate.{module}", "", *_listing(f"quorate.{module}", _names_of(module))]
    return "\n".join(lines)


def _names_of(module: str) -> list[str]:
    import importlib

    return list(importlib.import_module(f"quorate.{module}").__all__)


def _listing(module: str, names: list[str]) -> list[str]:
    import importlib

    home = importlib.import_module(module)
    rows = ["| name | what it is |", "|---|---|"]
    for name in names:
        thing = getattr(home, name)
        first = (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ") if callable(thing) else "A constant."
        rows.append(f"| [{name}]({module}.{name}.md) | {first.replace('|', chr(92) + '|')} |")
    pages = [f"{module}.{name}" for name in names]
    return [*rows, "", "```{toctree}", ":hidden:", "", *pages, "```", ""]


def method_page(name: str) -> str:
    """Return the page of one method: the facts of its line in the register, and its docstring with all options."""
    from quorate import METHODS

    method = METHODS[name]
    yes = {True: "yes", False: "no"}
    function = method.solve
    reference = method.reference
    link = f"https://doi.org/{reference.removeprefix('doi:')}" if reference.startswith("doi:") else ""
    link = f"https://arxiv.org/abs/{reference.removeprefix('arXiv:')}" if reference.startswith("arXiv:") else link
    facts = [
        ("memory in distinct rows", method.memory),
        ("time in distinct rows", method.time),
        ("finds the number of clusters itself", yes[method.finds_k]),
        ("random", yes[method.stochastic]),
        ("takes soft members", yes[method.soft]),
        ("paper", f"[{reference}]({link})" if link else reference),
    ]
    head = [f"# {name}", "", f"{method.title[0].upper()}{method.title[1:]}.", "", "| fact | value |", "|---|---|"]
    rows = [f"| {fact} | {value} |" for fact, value in facts]
    call = f'Call it as `consensus(labels, k, method="{name}", ...)` or `quorate consensus table.csv -k K -m {name}`.'
    body = ["```{eval-rst}", f".. autofunction:: {function.__module__}.{function.__qualname__}", "```", ""]
    return "\n".join(
        [*head, *rows, "", call, "The keyword arguments below, except `rng` and `runs`, are its options.", "", *body]
    )


def method_index() -> str:
    from quorate import METHODS

    rows = ["| method | what it is | memory | time | finds k |", "|---|---|---|---|---|"]
    for name, method in METHODS.items():
        finds = "yes" if method.finds_k else ""
        rows.append(f"| [{name}](method-{name}.md) | {method.title} | {method.memory} | {method.time} | {finds} |")
    pages = ["```{toctree}", ":hidden:", "", *(f"method-{name}" for name in METHODS), "```", ""]
    return "\n".join(
        [
            "# Options of every method",
            "",
            "Memory and time say how both grow with the number of distinct rows.",
            "",
            *rows,
            "",
            *pages,
        ]
    )


def shell_page() -> str:
    """Return the help of every command, as the shell tool prints it."""
    os.environ["COLUMNS"] = "88"
    from quorate.cli.entry import build_parser

    parser = build_parser()
    parts = [
        "# The shell tool",
        "",
        "What `quorate --help` and the help of every command print.",
        "",
        _help("quorate", parser),
    ]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                parts.append(_help(f"quorate {name}", command))
    return "\n".join(parts)


def _help(title: str, parser: argparse.ArgumentParser) -> str:
    return f"## {title}\n\n```text\n{parser.format_help().rstrip()}\n```\n"


def write_pages(app: Any) -> None:
    from quorate import METHODS

    folder = Path(app.srcdir) / "reference" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"api.md": api_index(), "methods.md": method_index(), "shell.md": shell_page()}
    for names in grouped_names().values():
        pages |= {f"quorate.{name}.md": name_page("quorate", name) for name in names}
    for module in MODULES:
        pages |= {f"quorate.{module}.{name}.md": name_page(f"quorate.{module}", name) for name in _names_of(module)}
    pages |= {f"method-{name}.md": method_page(name) for name in METHODS}
    for path in folder.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        # an unchanged page keeps its time stamp, so that a second build reads only what changed
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", link_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
