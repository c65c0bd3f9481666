"""How each kind of document is laid out: which functions write its blocks and its lines."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kantopt.report.blocks import Block
from kantopt.schema.base import Part

LAYOUTS = {
    "Plan": ("kantopt.report.terminal:plan_blocks", "kantopt.report.actions:action_lines"),
    "Certificate": (
        "kantopt.report.certificate:certificate_blocks",
        "kantopt.report.certificate:certificate_line",
    ),
    "Explanation": (
        "kantopt.report.explanation:explanation_blocks",
        "kantopt.report.explanation:explanation_line",
    ),
    "Capacity": (
        "kantopt.report.capacity:capacity_blocks",
        "kantopt.report.capacity:capacity_lines",
    ),
    "PriceList": ("kantopt.report.prices:price_blocks", "kantopt.report.prices:price_lines"),
    "Simulation": (
        "kantopt.report.simulation:simulation_blocks",
        "kantopt.report.simulation:simulation_lines",
    ),
    "Sweep": ("kantopt.report.sweep:sweep_blocks", "kantopt.report.sweep:sweep_lines"),
}
"""Kinds of answers; a module is loaded when a document of its kind is shown."""


def blocks_of(document: Part, *, wide: bool, **about: Any) -> list[Block]:
    """Lay out a document; ``about``: what the kind's own function takes beside it."""
    blocks: list[Block] = _function(document, 0)(document, wide=wide, **about)
    return blocks


def lines_of(document: Part) -> str:
    """Write a document as plain lines for scripts."""
    text: str = _function(document, 1)(document)
    return text


def _function(document: Part, which: int) -> Any:
    module, _, name = LAYOUTS[type(document).__name__][which].partition(":")
    return getattr(import_module(module), name)
