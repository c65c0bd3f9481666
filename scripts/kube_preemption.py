#!/usr/bin/env python3
"""Beside the real kube-scheduler: whom it leaves out and evicts on small clusters, and whom we do.

    python scripts/kube_preemption.py                      # all dumps of KANTOPT_DATA
    python scripts/kube_preemption.py --only bpdb --seconds 5

A row per dump: pods without a place by priority, the highest first, victims among them, then the
victims; ours is better where it leaves fewer of the highest priority at which the two differ.
Behind a plus stand pods that may evict nobody while others of their priority may: an eviction
counts more than one of these, so that they are compared last.
Budgets that the scheduler broke are set apart: no plan of ours may. Exits with 1 where ours is
worse though the scheduler kept the budgets, and for a victim said to be for a job of which the
scheduler places every pod without one.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.kube_preemption import FILE, Beside, Side, Tally, compare
from tests.kube_verdicts import records


def main() -> int:
    """Print a row per dump and what all come to."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--data", default=os.environ.get("KANTOPT_DATA"), help="data folder")
    arguments.add_argument("--only", default="", help="names that begin so")
    arguments.add_argument("--seconds", type=float, default=2.0, help="of work, each plan")
    chosen = arguments.parse_args()
    if not chosen.data:
        arguments.error("needs --data FOLDER or KANTOPT_DATA")
    width = "{:<12} {:<20} {:<14} {:<14} {:>7} {:>7} {:<8} {:<10} {}"
    titles = ("DUMP", "PRIORITIES", "LEFT BY THEM", "LEFT BY US", "EVICTED", "BY US", "OURS IS")
    print(width.format(*titles, "PROOF", "NOTES").rstrip())
    rows = []
    for record in records(Path(chosen.data) / FILE):
        if record["name"].startswith(chosen.only):
            rows.append(row := compare(record, chosen.seconds))
            left = (_left(side) for side in (row.theirs, row.ours))
            victims = (row.theirs.victims, row.ours.victims)
            priorities = " ".join(map(str, row.priorities))
            print(
                width.format(
                    row.name, priorities, *left, *victims, row.word, row.status, _notes(row)
                ).rstrip(),
                flush=True,
            )
    tally = Tally.of(rows)
    for broken, title in ((False, "budgets kept by the scheduler"), (True, "budgets broken by it")):
        counts = [tally.words[broken, word] for word in ("better", "equal", "worse")]
        print(f"{title}: ours better in {counts[0]}, equal in {counts[1]}, worse in {counts[2]}")
    pretexts = sum(len(row.pretexts) for row in rows)
    print(f"victims: {tally.victims[0]} of the scheduler, {tally.victims[1]} of ours")
    print(f"victims for jobs that the scheduler places without one: {pretexts}")
    return int(bool(pretexts or tally.words[False, "worse"]))


def _left(side: Side) -> str:
    """Pods left by priority; behind a plus those that are compared last."""
    parts = zip(side.unplaced, side.last, strict=True)
    return " ".join(f"{pods}+{last}" if last else str(pods) for pods, last in parts)


def _notes(row: Beside) -> str:
    broke = [f"broke {', '.join(row.broken)}"] if row.broken else []
    return "; ".join((*broke, *row.pretexts))


if __name__ == "__main__":
    sys.exit(main())
