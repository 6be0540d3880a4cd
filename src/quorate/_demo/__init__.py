"""The demo: a retailer's customers, segmented four ways with gaps, made one."""

from quorate._demo.story import demo

__all__ = ["demo"]
