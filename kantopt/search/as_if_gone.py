"""A state as if some pods were gone: who looks where others could make way sees their room free."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kantopt.search.shapes import Ints
from kantopt.search.state import State


@contextmanager
def as_if_gone(state: State, free: Ints, devices: Ints) -> Iterator[None]:
    """Pretend for a while that what some pods take of nodes and of devices is free.

    Nobody may come or go meanwhile but who has left again by the end.
    """
    state.free += free
    state.devices += devices
    try:
        yield
    finally:
        state.free -= free
        state.devices -= devices
