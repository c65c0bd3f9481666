#!/usr/bin/env python3
"""Random clusters, random places to go, random limits: is every state of every order legal?

    python scripts/fuzz.py                # a sample, as the tests draw it
    python scripts/fuzz.py --full         # the campaign
    python scripts/fuzz.py --first 1000 --count 500 --only plans

There are two kinds of trial. Of *orders* the places where the pods should go are drawn, and an
order looked for. Of *plans* it is a wish, as on the command line of `kantopt defrag`, and all that
the command does is done: the plan is verified, and what it promised not to do is counted.
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


def main() -> int:
    """Run the seeds asked for, print counts."""
    sys.path.insert(0, str(ROOT))
    from tests.fuzz.tidied import tidied
    from tests.fuzz.trial import Tally, trial

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help=f"{FULL} seeds instead of {SAMPLE}")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="seed to begin with")
    parser.add_argument("--count", type=int, metavar="N", help="seeds to draw")
    parser.add_argument("--only", choices=["orders", "plans"], help="one kind of trial")
    args = parser.parse_args()
    count = args.count or (FULL if args.full else SAMPLE)
    kinds = {"orders": trial, "plans": tidied}
    tallies = {kind: Tally() for kind in kinds if args.only in (None, kind)}
    for seed in range(args.first, args.first + count):
        for kind, tally in tallies.items():
            outcome = kinds[kind](seed)
            tally.add(outcome)
            for fault in sorted(outcome.faults):
                print(f"{kind} {seed}: {fault}", file=sys.stderr)
        if sys.stderr.isatty():
            print(f"\r{seed - args.first + 1} of {count} ", end="", file=sys.stderr)
    for kind, tally in tallies.items():
        print(f"{kind.upper()}\n{tally}")
    return 1 if any(tally.faulty for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
