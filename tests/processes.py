"""Processes that a test has begun and that are still there."""

from __future__ import annotations

import os
from pathlib import Path


def children() -> set[int]:
    """Return the ids of this process's own processes, also of those dead and not waited for."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_bytes().rsplit(b")", 1)[1].split()
        except (OSError, IndexError):
            continue  # gone meanwhile
        if int(fields[1]) == os.getpid():
            found.add(int(stat.parent.name))
    return found
