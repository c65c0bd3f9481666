#!/usr/bin/env python3
"""Random clusters, random places to go, random limits: is every state of every order legal?

    python scripts/fuzz.py                # a sample, as the tests draw it
    python scripts/fuzz.py --full         # the campaign
    python scripts/fuzz.py --seeds 1000-1499 --only plans
    python scripts/fuzz.py --full --record trials.jsonl   # goes on where it was cut short

There are two kinds of trial. Of *orders* the places where the pods should go are drawn, and an
order looked for. Of *plans* it is a wish, as on the command line of `kantopt defrag`, and all that
the command does is done: the plan is verified, and what it promised not to do is counted.
Each plan is carried out by a plain replay (``tests/fuzz``) that shares no code with kantopt: in
every state if it has few waves, else in random orders with waves side by side. Exits with 1 if
anything goes wrong, with 130 or 143 if it is interrupted; what was counted until then is printed.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    from tests.fuzz.trial import Outcome

SAMPLE, FULL = 200, 6000
LINE = 100
"""Seeds between two lines about the progress, where there is no terminal."""


def seeds_of(text: str) -> range:
    """Read ``FIRST-LAST``."""
    first, dash, last = text.partition("-")
    if not (dash and first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise argparse.ArgumentTypeError(f"{text!r} is not FIRST-LAST, such as 0-999")
    return range(int(first), int(last) + 1)


def parser_of(description: str | None, sample: int, full: int) -> argparse.ArgumentParser:
    """Return the parser of a campaign: a sample of its seeds, all of them or some."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawTextHelpFormatter
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--full", action="store_true", help=f"{full} seeds instead of {sample}")
    which.add_argument("--seeds", type=seeds_of, metavar="A-B", help="these seeds, both included")
    return parser


def main() -> int:
    """Run the seeds asked for, print counts."""
    parser = parser_of(__doc__, SAMPLE, FULL)
    parser.add_argument("--only", choices=["orders", "plans"], help="one kind of trial")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep what was tried here")
    args = parser.parse_args()
    seeds = args.seeds or range(FULL if args.full else SAMPLE)
    if args.record is not None and not args.record.absolute().parent.is_dir():
        parser.error(f"--record {args.record}: there is no folder {args.record.parent}")

    from tests.fuzz.campaign import campaign
    from tests.fuzz.tidied import tidied
    from tests.fuzz.trial import Tally, trial

    kinds = {"orders": trial, "plans": tidied}
    trials = {kind: kinds[kind] for kind in kinds if args.only in (None, kind)}
    tallies = {kind: Tally() for kind in trials}
    terminal = sys.stderr.isatty()

    def tell(kind: str, seed: int, outcome: Outcome) -> None:
        for fault in sorted(outcome.faults):
            print(f"{kind} {seed}: {fault}", file=sys.stderr)
        tally = tallies[kind]
        if terminal:
            print(f"\r{kind}: {tally.brief()} ", end="", file=sys.stderr, flush=True)
        elif tally.seeds % LINE == 0:
            print(f"{kind}: {tally.brief()}", file=sys.stderr, flush=True)

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        campaign(trials, seeds, tallies, args.record, tell)
    except KeyboardInterrupt:
        return 130
    finally:
        if terminal:
            print(file=sys.stderr)
        for kind, tally in tallies.items():
            print(f"{kind.upper()}\n{tally}")
    return 1 if any(tally.faulty for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
