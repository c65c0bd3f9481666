"""Exact placement, preemption and defragmentation plans for AI clusters, with proof.

For programs and notebooks: :mod:`kantopt.api`, whose names can be had from here.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from kantopt.version import __version__

if TYPE_CHECKING:
    from kantopt.api import certify, explain, judge, plan, read, show

__all__ = ["__version__", "certify", "explain", "judge", "plan", "read", "show"]


def __getattr__(name: str) -> object:
    """Load the functions when they are used: the command line does without them."""
    if name in __all__:
        return getattr(import_module("kantopt.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
