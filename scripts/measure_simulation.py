#!/usr/bin/env python3
"""How long a simulation takes per event as there are more jobs: figures, and a plot as SVG.

    python scripts/measure_simulation.py -O docs/simulate-cost.svg

Loads of a week drawn for one empty cluster (``kantopt trace``): the more jobs, the higher is what
they offer. Each is simulated by one policy. Counted is the time that a processor spent in user mode
while events were worked through, judgment of states included; reading, measuring and writing are
not.
"""

from __future__ import annotations

import argparse
import gc
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kantopt.report.chart import Panel, document, number_axis, text
from kantopt.schema.writing import write_atomic
from kantopt.simulate.asked import read_asked
from kantopt.simulate.simulator import Simulator
from kantopt.simulate.world import build_world

GPUS_PER_NODE = 8
WIDTH, HEIGHT = 640, 320
PROCESSES = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
"""The simulation's own, and those of its planner that have ended."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one simulation took."""

    jobs: int
    events: int
    seconds: float
    """In user mode."""
    mebibytes: int
    """The most that a process had."""

    @property
    def micros(self) -> float:
        """Microseconds per event."""
        return self.seconds * 1e6 / self.events


def main() -> None:
    """Print a line per number of jobs, and draw them."""
    asked = _arguments()
    gc.set_threshold(70_000)  # as in kantopt/__main__.py
    print(f"{'jobs':>8} {'events':>8} {'user s':>8} {'us/event':>9} {'MiB':>6}")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for jobs in map(int, asked.jobs.split(",")):
            trace = Path(folder) / f"{jobs}.json"
            _draw(trace, jobs, asked)
            cost = measured(trace, asked.policy)
            found.append(cost)
            print(
                f"{cost.jobs:>8} {cost.events:>8} {cost.seconds:>8.2f} {cost.micros:>9.0f}"
                f" {cost.mebibytes:>6}",
                flush=True,
            )
    if asked.output_file:
        span = f"offered load {asked.load}" if asked.load else "a week"
        title = f"{asked.gpus} GPUs, {span}, policy {asked.policy}"
        write_atomic(asked.output_file, plot(title, found).encode())


def _arguments() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--jobs", default="1000,2000,3000,5000,10000", help="jobs of each load")
    arguments.add_argument("--gpus", type=int, default=10_000, help="of nodes of 8")
    arguments.add_argument("--load", help="offered load, whatever time it takes; not a week")
    arguments.add_argument("--policy", default="e-binpack", help="name or file")
    arguments.add_argument("--seed", type=int, default=1, help="of the loads")
    arguments.add_argument("-O", "--output-file", help="plot, SVG")
    return arguments.parse_args()


def _draw(trace: Path, jobs: int, asked: argparse.Namespace) -> None:
    """Draw a load and the cluster that it is for."""
    nodes = str(asked.gpus // GPUS_PER_NODE)
    command = [sys.executable, "-m", "kantopt", "trace", "--nodes", nodes]
    command += ["--load", asked.load] if asked.load else ["--for", "7d"]
    command += ["--jobs", str(jobs), "--seed", str(asked.seed), "-q"]
    subprocess.run([*command, "-O", str(trace)], check=True)


def measured(trace: Path, policy: str) -> Cost:
    """Simulate a load; return what that took."""
    asked = read_asked([str(trace)], [policy], None)
    course, how = asked.traces[0], asked.policies[0]
    world = build_world(
        asked.question.snapshot,
        asked.question.pending,
        course,
        asked.rules(how),
        name=course.metadata.name,
    )
    simulator = Simulator(world, how)
    began = _user_seconds()
    history = simulator.run()
    seconds = _user_seconds() - began
    most = max(resource.getrusage(who).ru_maxrss for who in PROCESSES) // 1024
    return Cost(len(history.jobs), history.events, seconds, most)


def _user_seconds() -> float:
    return sum(resource.getrusage(who).ru_utime for who in PROCESSES)


def plot(title: str, costs: list[Cost]) -> str:
    """Draw microseconds per event over jobs, from 0 on, so that flat looks flat."""
    across = number_axis(max(cost.jobs for cost in costs))
    up = number_axis(1.25 * max(cost.micros for cost in costs))
    panel = Panel(70, 40, WIDTH - 100, HEIGHT - 100, across, up)
    points = [(cost.jobs, cost.micros) for cost in costs]
    lines = [
        text(70, 24, title, size=14),
        *panel.frame("jobs", "user time per event, us"),
        panel.line(points, "#2a6f97", "", "user microseconds per event"),
    ]
    for cost in costs:
        x, y = panel.at(cost.jobs, cost.micros)
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#2a6f97"/>')
        lines.append(text(x, y - 9, f"{cost.micros:.0f}", anchor="middle"))
    return document(WIDTH, HEIGHT, title, lines)


if __name__ == "__main__":
    main()
