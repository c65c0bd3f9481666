"""No search for garbage while documents grow: there is none, and the search takes most of the time.

Python looks for cycles whenever so many more objects exist than before, and looks at all of them.
While a file becomes millions of objects of which all are kept, that finds nothing and is up to
three quarters of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_for_good = [False]
"""Whether what is kept now is kept to the end of the process."""


@contextmanager
def for_good() -> Iterator[None]:
    """What is :func:`kept` meanwhile is not looked at later, either.

    For commands that answer one question: whoever asks many would have the memory full of them.
    """
    before, _for_good[0] = _for_good[0], True
    try:
        yield
    finally:
        _for_good[0] = before


@contextmanager
def kept() -> Iterator[None]:
    """Do not look for garbage meanwhile; for functions that keep what they make."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if _for_good[0]:
            gc.freeze()
        gc.enable()
