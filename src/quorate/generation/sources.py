"""Names for the bases besides the built-in k-means; the code behind a name is imported when the name is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _robust() -> Any:
    from quorate.generation.portfolio import robust_portfolio

    # A new seed is drawn for each member; the fixed seeds here keep checkpoints comparable.
    return robust_portfolio(random_state=0)


def _boosting() -> Any:
    from quorate.generation.boosting import Boosting

    return Boosting()


def _bagging() -> Any:
    from quorate.generation.bagging import Bagging

    return Bagging()


SOURCES: dict[str, Callable[[], Any]] = {"robust": _robust, "boosting": _boosting, "bagging": _bagging}
"""Functions that return a base or a list of bases for `generate`, by name."""
