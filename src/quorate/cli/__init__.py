"""The shell tool: `quorate.cli:main`."""

from quorate.cli.entry import main

__all__ = ["main"]
