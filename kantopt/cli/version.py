"""The versions that decide what a plan looks like."""

from __future__ import annotations

import sys


def version_text() -> str:
    """Versions of all that decides what a plan looks like."""
    from importlib.metadata import PackageNotFoundError, version

    from kantopt.version import __version__

    try:
        ortools = version("ortools")
    except PackageNotFoundError:
        ortools = "missing"
    python = ".".join(map(str, sys.version_info[:3]))
    return f"kantopt {__version__} (ortools {ortools}, python {python})\n"
