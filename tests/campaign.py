"""How much of a campaign is asked: a part with the other tests, all of it if told to.

``KANTOPT_CAMPAIGN=full`` asks everything; the blocks of a campaign are alike, so that a twelfth
of them keeps most quotas.
"""

from __future__ import annotations

import os

FULL = os.environ.get("KANTOPT_CAMPAIGN") == "full"


def some(blocks: range, of: int = 12) -> range:
    """Return the blocks of random questions that are asked now, one of so many."""
    return blocks if FULL else blocks[: -(-len(blocks) // of)]
