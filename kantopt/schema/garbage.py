"""No search for garbage while documents grow: there is none, and the search takes most of the time.

Python looks for cycles whenever so many more objects exist than before, and looks at all of them.
While a file becomes millions of objects of which all are kept, that finds nothing and is up to
three quarters of the time. What is kept is not looked at later, either.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
        gc.freeze()
        gc.enable()
