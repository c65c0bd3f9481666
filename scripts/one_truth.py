#!/usr/bin/env python3
"""One truth: all commands and engines asked about the same random small questions.

    python scripts/one_truth.py                  # a sample
    python scripts/one_truth.py --full           # at least 2,000 questions about a job
    python scripts/one_truth.py --seeds 100-199 --workers 2

For each seed a tiny cluster is drawn, and `plan` (every engine), `certify` of each plan and, for
each job that waits, `plan --for`, `plan --require`, `explain` with its remedies and `defrag --goal
fit` are asked. What each claims of all plans is held against every plan that any of them found,
and against brute force (`tests/one_truth`, `docs/one-truth.md`). Exits with 1 if two answers
contradict each other.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.loaded import load
from tests.one_truth.trial import Outcome, trial

SAMPLE, FULL = 20, 700
EVERY = 10
"""Clusters between two lines about the progress."""


def seeds_of(text: str) -> range:
    """Read ``FIRST-LAST``."""
    first, dash, last = text.partition("-")
    if not (dash and first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise argparse.ArgumentTypeError(f"{text!r} is not FIRST-LAST, such as 0-99")
    return range(int(first), int(last) + 1)


def main() -> int:
    """Ask about the seeds, print contradictions and counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--full", action="store_true", help=f"{FULL} seeds instead of {SAMPLE}")
    which.add_argument("--seeds", type=seeds_of, metavar="A-B", help="these seeds, both included")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), metavar="N")
    args = parser.parse_args()
    seeds = args.seeds or range(FULL if args.full else SAMPLE)
    began, counts, faulty = time.monotonic(), Counter[str](), 0
    with ProcessPoolExecutor(max(1, args.workers), initializer=load) as pool:
        futures = [pool.submit(trial, seed) for seed in seeds]
        try:
            for done, future in enumerate(as_completed(futures), 1):
                outcome: Outcome = future.result()
                if done % EVERY == 0:
                    print(f"{done} of {len(seeds)} clusters", file=sys.stderr, flush=True)
                counts += outcome.counts
                faulty += bool(outcome.faults)
                for fault in dict.fromkeys(outcome.faults):
                    print(f"seed {outcome.seed}: {fault}", flush=True)
                for text in outcome.beside:
                    print(f"seed {outcome.seed}: only beside others: {text}", flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
    print(f"{len(seeds)} clusters, {faulty} with contradictions, {time.monotonic() - began:.0f} s")
    for what, count in sorted(counts.items()):
        print(f"  {count:7,d} {what}")
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
