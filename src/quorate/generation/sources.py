"""Names for the bases beside the built-in k-means; what they stand for is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _robust() -> Any:
    from quorate.generation.portfolio import robust_portfolio

    # seeds are drawn anew for each member; fixed ones here keep checkpoints comparable
    return robust_portfolio(random_state=0)


def _boosting() -> Any:
    from quorate.generation.boosting import Boosting

    return Boosting()


def _bagging() -> Any:
    from quorate.generation.bagging import Bagging

    return Bagging()


SOURCES: dict[str, Callable[[], Any]] = {"robust": _robust, "boosting": _boosting, "bagging": _bagging}
"""Each gives a base or a list of bases for `generate`."""
