"""Lines in the run's log, for the people who debug a plugin.

Whoever imports this module asks the host for its log. The host cuts long lines
and drops lines past a fixed number per call. In a native test they go to
standard error.
"""

from __future__ import annotations

import sys

_LEVELS = ("debug", "info", "warning")


def debug(line: str) -> None:
    """A line that is shown only on request."""
    _write(0, line)


def info(line: str) -> None:
    """A line worth keeping."""
    _write(1, line)


def warning(line: str) -> None:
    """A line worth reading."""
    _write(2, line)


def _write(level: int, line: str) -> None:
    print(f"{_LEVELS[level]}: {line}", file=sys.stderr)
