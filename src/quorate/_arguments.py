"""What the shell tool's -k means, and what it tells about a number of clusters that was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate import Consensus


def number_of_clusters(text: str | None) -> int | str | tuple[int, int] | None:
    """A number, "auto", or both ends of a range such as 2:20, as `quorate.consensus` takes them."""
    if text is None or text == "auto":
        return text
    low, colon, high = text.partition(":")
    try:
        return (int(low), int(high)) if colon else int(low)
    except ValueError:
        raise ValueError(f"-k must be an integer, auto, or a range such as 2:20, got {text!r}") from None


def choice_facts(result: Consensus) -> dict[str, Any]:
    """The table behind a chosen number, where one was chosen."""
    return {"choice": result.info["choice"].as_dict()} if "choice" in result.info else {}
