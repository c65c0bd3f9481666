#!/usr/bin/env python3
"""One job more that may evict nobody: does it change who is evicted in the optimum?

    python scripts/honest.py            # a sample
    python scripts/honest.py --full     # at least 3,000 questions, by brute force

Exits with 1 if it does in any question.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.honest_trials import changed_evictions

SAMPLE, FULL = 100, 3_000


def main() -> None:
    """Draw questions until there are enough, and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help=f"{FULL} questions")
    parser.add_argument("--first", type=int, default=0, help="seed to begin with")
    options = parser.parse_args()
    asked = evicting = wrong = 0
    seed = options.first
    while asked < (FULL if options.full else SAMPLE):
        found = changed_evictions(seed)
        seed += 1
        if found is None:
            continue
        asked += 1
        evicting += found[0]
        if found[1]:
            wrong += 1
            print(found[1], flush=True)
    print(f"{asked} questions, {evicting} with evictions, {wrong} changed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
