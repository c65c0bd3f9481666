#!/usr/bin/env python3
"""Random clusters, random places to go, random limits: is every state of every order legal?

    python scripts/fuzz.py                # a sample, as the tests draw it
    python scripts/fuzz.py --full         # the campaign
    python scripts/fuzz.py --first 1000 --count 500

Each plan is carried out by a plain replay (``tests/fuzz``) that shares no code with kantopt: in
every state if it has few waves, else in random orders with waves side by side. Exits with 1 if
anything goes wrong.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAMPLE, FULL = 200, 6000
PLANNED = 10
"""Of so many seeds one is planned for as well, which takes half a second each."""


def main() -> int:
    """Run the seeds asked for, print counts."""
    sys.path.insert(0, str(ROOT))
    from tests.fuzz.trial import Tally, planned, trial

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help=f"{FULL} seeds instead of {SAMPLE}")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="seed to begin with")
    parser.add_argument("--count", type=int, metavar="N", help="seeds to draw")
    args = parser.parse_args()
    count = args.count or (FULL if args.full else SAMPLE)
    tally = Tally()
    plans = Tally()
    for seed in range(args.first, args.first + count):
        outcomes = [(tally, trial(seed))]
        if seed % PLANNED == 0:
            outcomes.append((plans, planned(seed)))
        for into, outcome in outcomes:
            into.add(outcome)
            for fault in sorted(outcome.faults):
                print(f"seed {seed}: {fault}", file=sys.stderr)
        if sys.stderr.isatty():
            print(f"\r{seed - args.first + 1} of {count} ", end="", file=sys.stderr)
    print(f"GOALS GIVEN AS PLACEMENTS\n{tally}\nGOALS GIVEN AS OBJECTIVES\n{plans}")
    return 1 if tally.faulty or plans.faulty else 0


if __name__ == "__main__":
    sys.exit(main())
