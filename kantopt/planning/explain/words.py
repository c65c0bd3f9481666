"""Numbers of things in words."""

from __future__ import annotations


def counted(number: int, one: str) -> str:
    """Write ``1 pod``, ``2 pods``."""
    return f"{number} {one}" if number == 1 else f"{number} {one}s"
