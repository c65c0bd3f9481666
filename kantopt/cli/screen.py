"""Blocks as the output wants them: plain in a file or pipe, laid out on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kantopt.cli.options import Colour
from kantopt.report.blocks import Block, Screen, render, screen_of


def on_screen(blocks: Sequence[Block], color: Colour, *, to_file: bool = False) -> str:
    """Render blocks for stdout, or plainly for a file."""
    if to_file:
        return render(blocks, Screen(colour=color == "always"))
    return render(blocks, screen_of(sys.stdout, color))
