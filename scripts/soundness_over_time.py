"""Simulate tiny random clusters until so many states were judged, and say what was found.

    python scripts/soundness_over_time.py --states 200000

Every state in which something came is judged, and the books of every simulation must balance:
samples add up, nobody starts before he comes, who is undisturbed ends exactly his duration later.
Every fifth simulation plans with the planner.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kantopt.errors import BadDataError
from kantopt.simulate.history import History
from kantopt.simulate.metrics.window import Window
from kantopt.simulate.simulator import Simulator
from tests.simulate.worlds import drawn

TELL = 10_000
"""States between two words on how far it is."""


def faults(history: History) -> list[str]:
    """Find what is wrong with the books of a simulation."""
    found = []
    if history.horizon:
        try:
            Window(history)
        except ValueError as error:
            found.append(str(error))
    for job in history.jobs:
        undisturbed = job.starts == 1 and not (job.moves or job.evictions)
        if job.started is not None and job.started < job.arrival:
            found.append(f"{job.name} starts before it comes")
        if undisturbed and job.ended is not None and job.ended != job.started + job.duration:  # type: ignore[operator]
            found.append(f"{job.name} ends at {job.ended}, started at {job.started}")
    return found


def main() -> int:
    """Simulate, print a summary, and return 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=200_000, help="states to be judged at least")
    parser.add_argument("--seed", type=int, default=1_000_000, help="first seed")
    asked = parser.parse_args()
    began, seed, wrong = time.monotonic(), asked.seed, 0
    counts: Counter[str] = Counter()
    told = TELL
    while counts["states judged"] < asked.states:
        if counts["states judged"] >= told:
            told += TELL
            print(f"{counts['states judged']} states judged", file=sys.stderr, flush=True)
        planned = seed % 5 == 0
        try:
            world, policy = drawn(seed, planned=planned)
        except BadDataError:  # objectives drawn for a label that no node has got
            counts["questions that cannot be asked"] += 1
            seed += 1
            continue
        try:
            history = Simulator(world, policy, verify_every=1).run()
        except Exception as error:
            wrong += 1
            print(f"seed {seed}: {type(error).__name__}: {error}", flush=True)
        else:
            counts["simulations"] += 1
            counts["states judged"] += history.judged
            counts["events"] += history.events
            counts["jobs started"] += sum(each.started is not None for each in history.jobs)
            counts["evictions"] += sum(each.evictions for each in history.jobs)
            counts["pods moved"] += sum(each.moves for each in history.jobs)
            counts["cycles"] += len(history.plans)
            for text in faults(history):
                wrong += 1
                print(f"seed {seed}: {text}", flush=True)
        seed += 1
    for name, count in counts.items():
        print(f"{count:>9} {name}")
    print(f"{wrong:>9} faults, in {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
