"""What searches, loaded once: each process that is forked for a search would do it anew."""

from __future__ import annotations

import importlib
import pkgutil


def load() -> None:
    """Load all that any search needs, and what judges it."""
    for name in ("kantopt.cp", "kantopt.planning", "kantopt.search", "kantopt.verify"):
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            importlib.import_module(module.name)
