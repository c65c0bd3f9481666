"""How much a plan prints at several sizes: lines, the longest line, and the time of printing.

Clusters of gangs are drawn and planned by the fast path; the table is laid out for a pipe and for
a terminal of 100 columns, where only words that are longer stand out. Seconds are of CPU.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import kantopt
from kantopt.cli.shown import domains_read, size_read
from kantopt.report.blocks import Screen, render
from kantopt.report.terminal import plan_blocks
from kantopt.schema.base import API_VERSION
from kantopt.schema.jobs import JobList
from scripts.bench.gangs import kant

WIDTH = 100


def main() -> None:
    """Print one row per size."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--nodes", default="30,200,2000,10000", help="sizes of the clusters")
    arguments.add_argument("--model", default="preemption")
    arguments.add_argument("--time-limit", type=float, default=30.0)
    given = arguments.parse_args()
    print("nodes  actions  lines  wide lines  longest in a pipe  on a terminal  seconds")
    for nodes in map(int, given.nodes.split(",")):
        made = kant(nodes, 0.85, 7, None)
        waiting = {"apiVersion": API_VERSION, "kind": "JobList", "jobs": made.pending}
        question = kantopt.read(made.snapshot, JobList.model_validate(waiting))
        plan = kantopt.plan(question, model=given.model, engine="fast", time_limit=given.time_limit)
        domains, level = domains_read(question)
        start = time.process_time()
        blocks = plan_blocks(plan, size=size_read(question), domains=domains, level=level)
        piped = render(blocks, Screen()).splitlines()
        seconds = time.process_time() - start
        shown = render(blocks, Screen(WIDTH)).splitlines()
        wide = render(plan_blocks(plan, wide=True), Screen()).count("\n")
        actions = len(plan.assignments) + len(plan.evictions) + len(plan.moves)
        longest = max(map(len, piped)), max(map(len, shown))
        print(
            f"{nodes:5}  {actions:7}  {len(shown):5}  {wide:10}  {longest[0]:17}  {longest[1]:13}"
            f"  {seconds:7.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
