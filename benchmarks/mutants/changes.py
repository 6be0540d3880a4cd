"""The small changes (mutants) that can be made to a module, each of which some test should notice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

OTHER = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
"""What a comparison becomes: boundaries move by one, and the others are negated."""
OPPOSITE = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt}
WORDS = {"raise", "warn", "info", "debug"}
"""Calls and statements that only word a message; nothing is changed inside them."""


class Change(NamedTuple):
    """Part of a source, from one byte to another, and the text to put there."""

    line: int
    start: int
    end: int
    new: str
    kind: str

    def apply(self, source: str) -> str:
        """The source with this change."""
        text = source.encode()
        return (text[: self.start] + self.new.encode() + text[self.end :]).decode()


def changes(source: str) -> list[Change]:
    """All changes that can be made to a source, in the order of their places."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, new, kind in _replacements(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        found.append(Change(node.lineno, start, end, new, kind))
    return sorted(found)


def _replacements(tree: ast.AST) -> Iterator[tuple[ast.expr, str, str]]:
    """Each expression that may be replaced, with its replacement and the kind of the change."""
    for node in _code(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            for table, kind in ((OTHER, "boundary moved or comparison negated"), (OPPOSITE, "comparison flipped")):
                if type(node.ops[0]) in table:
                    changed = ast.Compare(node.left, [table[type(node.ops[0])]()], node.comparators)
                    yield node, f"({ast.unparse(changed)})", kind
        elif isinstance(node, ast.BoolOp):
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield node, f"({ast.unparse(ast.BoolOp(other, node.values))})", "and, or exchanged"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node, f"({ast.unparse(node.operand)})", "not removed"
        elif isinstance(node, ast.Constant) and (new := _constant(node.value)):
            yield node, new, "constant changed"
        elif isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], ast.Raise | ast.Return):
            yield node.test, "False", "guard removed"
        elif isinstance(node, ast.Return) and node.value and not _is_none(node.value):
            yield node.value, "None", "result replaced"


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes under a node that decide something: no types, no words of messages, no texts inside texts."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _only_words(child):
                yield child
                yield from _code(child)


def _only_words(node: ast.AST) -> bool:
    """Whether nothing below a node decides anything: an error, a warning, a text, a block for types."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return True
    called = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    return isinstance(node, ast.Raise | ast.JoinedStr) or called in WORDS


def _constant(value: object) -> str | None:
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return str(value + 1)
    return repr(value * 0.6 + 0.01) if isinstance(value, float) else None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
