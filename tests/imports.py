"""What the modules of the package import from each other, read from their source: also inside functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple


class Import(NamedTuple):
    """One imported thing: the module it comes from, and its name there ("" if the module itself is imported)."""

    module: str
    name: str
    for_types: bool
    """Whether it stands under ``if TYPE_CHECKING``, so that it is never executed."""


def modules_of(package: Path) -> dict[str, Path]:
    """The files of a package by their dotted names; a folder's name means its __init__.py."""
    named = {}
    for path in sorted(package.rglob("*.py")):
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


def imports_of(source: str, module: str, modules: Mapping[str, Path], homes: Mapping[str, str]) -> set[Import]:
    """Everything that a module's source imports from its own package, wherever the statement stands.

    `homes` says in which module a public name of the package really lives, for ``from quorate import consensus``.
    """
    top = module.split(".")[0]
    tree = ast.parse(source)
    aliases: dict[str, str] = {}
    imported = set()
    for node, for_types in _statements(tree):
        for target, name, bound in _targets(node, module, modules):
            if target.split(".")[0] != top:
                continue
            if f"{target}.{name}" in modules:
                target, name = f"{target}.{name}", ""
            elif target == top and name in homes:
                target = f"{top}.{homes[name]}"
            if not name:
                aliases[bound] = target
            imported.add(Import(target, name, for_types))
    return imported | set(_attributes(tree, aliases))


def _statements(tree: ast.AST, for_types: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """All import statements under a node, and whether they stand under ``if TYPE_CHECKING``."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, for_types
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for part in node.body:
                yield from _statements(ast.Module([part], []), True)
            for part in node.orelse:
                yield from _statements(ast.Module([part], []), for_types)
        else:
            yield from _statements(node, for_types)


def _targets(node: ast.stmt, module: str, modules: Mapping[str, Path]) -> Iterator[tuple[str, str, str]]:
    """For each thing a statement imports: the module, the name in it, and the name it is bound to."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, "", alias.asname or alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            inside = module.split(".") if modules[module].name == "__init__.py" else module.split(".")[:-1]
            base = ".".join([*inside[: len(inside) - node.level + 1], *([node.module] if node.module else [])])
        yield from ((base, alias.name, alias.asname or alias.name) for alias in node.names)


def _attributes(tree: ast.AST, aliases: Mapping[str, str]) -> Iterator[Import]:
    """What is taken out of imported modules with a dot, as in ``scores._private``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in aliases:
            yield Import(aliases[ast.unparse(node.value)], node.attr, False)


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of modules each of which is imported, directly or through others, by all modules of its group."""
    reached = {start: _reached(graph, start) for start in graph}
    groups = {frozenset(b for b in reached[a] if a in reached.get(b, ())) for a in graph if a in reached[a]}
    return sorted(sorted(group) for group in groups)


def _reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """All modules that one gets to by following imports from `start`; `start` itself only by a way back to it."""
    known: set[str] = set()
    ahead = list(graph[start])
    while ahead:
        module = ahead.pop()
        if module not in known:
            known.add(module)
            ahead += graph.get(module, ())
    return known
