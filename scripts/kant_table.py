#!/usr/bin/env python3
"""Kant's table, ours: policies beside each other on the same loads, at several sizes and loads.

    python scripts/kant_table.py --out FOLDER                               # hours
    python scripts/kant_table.py --out FOLDER --gpus 2000 --loads 0.9 --seeds 2 --for 1d
    python scripts/kant_table.py --out FOLDER --policies e-binpack,kantopt-exact

Draws clusters and loads (``kantopt trace``), simulates the policies on them (``kantopt simulate``)
and prints a table per size and load: means over the seeds, half of the 95% confidence interval
behind them. What each simulation leaves (document, tables, pictures) stays in the folder; cells
that are there already are not simulated again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kantopt.report.blocks import Paragraph, Screen, Table, render
from kantopt.report.units import duration
from kantopt.schema.answers.simulation import Estimate, Simulation

ZONE = """apiVersion: kantopt/v1alpha1
kind: Policy
metadata: {{name: e-spread-zone}}
placement:
  strategy: e-binpack
  zone: {{nodes: leaf={leaf}, jobs: ["inference/*"], strategy: least-allocated}}
"""
"""Kant's E-Spread: services spread in a zone of their own, here the first leaf."""
GPUS_PER_NODE = 8
"""Of all clusters."""


@dataclass(frozen=True, slots=True)
class Column:
    """A measure that is shown, by metric and scope, and how."""

    title: str
    metric: str
    scope: str
    words: Callable[[float], str]


def _share(value: float) -> str:
    return f"{100 * value:.2f}"


def _time(value: float) -> str:
    return duration(value / 1000)


def _ratio(value: float) -> str:
    return f"{value:.3f}"


COLUMNS = (
    Column("GAR %", "gar_mean", "", _share),
    Column("GAR median", "gar_median", "", _share),
    Column("SOR %", "sor_running", "", _share),
    Column("GFR %", "gfr_mean", "", _share),
    Column("GFR median", "gfr_median", "", _share),
    Column("WAIT", "wait_mean", "all", _time),
    Column("p90", "wait_p90", "all", _time),
    Column("p90 of 64-255", "wait_p90", "64-255", _time),
    Column("p90 of 256-1023", "wait_p90", "256-1023", _time),
    Column("D_node = 1", "d_node_at_one", "all", _share),
    Column("D_group = 1", "d_group_at_one", "all", _share),
    Column("proved", "plans_proved", "", _share),
)


def main() -> int:
    """Simulate what is not there yet, and print a table per size and load."""
    asked = _arguments()
    for gpus in asked.gpus.split(","):
        for load in asked.loads.split(","):
            folder = Path(asked.out) / f"{gpus}-{load}"
            began = time.monotonic()
            simulation = _cell(folder, int(gpus) // GPUS_PER_NODE, load, asked)
            title = f"{gpus} GPUs, offered load {load}, {asked.seeds} seeds, {asked.span}"
            print(render(list(_blocks(title, simulation)), Screen()), flush=True)
            print(f"{time.monotonic() - began:.0f} s, in {folder}\n", flush=True)
    return 0


def _arguments() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--out", required=True, help="folder to write to")
    arguments.add_argument("--gpus", default="2000,10000", help="sizes of clusters")
    arguments.add_argument("--loads", default="0.9,1.1", help="offered loads")
    arguments.add_argument("--seeds", type=int, default=5, help="traces of each cell")
    arguments.add_argument("--for", dest="span", default="3d", help="time in which jobs come")
    arguments.add_argument("--warm-up", default="12h", help="time that is not measured")
    arguments.add_argument("--like", default="kalos", help="whose sizes and run times")
    arguments.add_argument("--inference", default="0.1", help="share of services in the GPU time")
    arguments.add_argument(
        "--policies",
        default="fifo,easy,e-binpack,e-spread-zone,kantopt-fast,kantopt-exact,kantopt-defrag",
        help="names or files of policies, the first of which is compared with",
    )
    arguments.add_argument("--workers", type=int, default=2, help="processes")
    return arguments.parse_args()


def _cell(folder: Path, nodes: int, load: str, asked: argparse.Namespace) -> Simulation:
    """Return the simulation of a size and a load."""
    result = folder / "simulation.json"
    if not result.exists():
        folder.mkdir(parents=True, exist_ok=True)
        drawn = ("--load", load, "--for", asked.span, "--like", asked.like)
        drawn = (*drawn, "--inference", asked.inference, "--users", "20")
        traces = []
        cluster = folder / "cluster.yaml"
        whole = _kantopt("trace", "--nodes", str(nodes), "--jobs", "1", "--for", asked.span)
        cluster.write_text(whole.partition("\n---\n")[0] + "\n")
        leaf = whole.partition("leaf: ")[2].split()[0]
        for seed in range(1, asked.seeds + 1):
            traces.append(folder / f"seed-{seed}.json")
            text = _kantopt("trace", str(cluster), *drawn, "--seed", str(seed), "-o", "json")
            traces[-1].write_text(text)
        zone = folder / "e-spread-zone.yaml"
        zone.write_text(ZONE.format(leaf=leaf))
        policies = [str(zone) if name == zone.stem else name for name in asked.policies.split(",")]
        _kantopt(
            "simulate",
            str(cluster),
            *map(str, traces),
            *(word for policy in policies for word in ("--policy", policy)),
            *("--warm-up", asked.warm_up, "--until", asked.span),
            *("--workers", str(asked.workers), "--tables", str(folder / "tables")),
            *("--pictures", str(folder), "-o", "json", "-O", str(result)),
        )
    return Simulation.model_validate_json(result.read_bytes())


def _kantopt(*arguments: str) -> str:
    """Run a command of kantopt; return what it prints."""
    command = [sys.executable, "-m", "kantopt", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}\n{done.stderr}")
    return done.stdout


def _blocks(title: str, simulation: Simulation) -> Iterator[Paragraph | Table]:
    rows = []
    for policy in simulation.policies:
        cells = [_words(simulation, column, policy) for column in COLUMNS]
        rows.append((policy, *cells))
    titles = ("POLICY", *(column.title for column in COLUMNS))
    yield Table(title, titles, tuple(rows), frozenset(range(1, len(titles))))
    yield Paragraph(f"{simulation.events} events, {simulation.judged} states judged", "dim")


def _words(simulation: Simulation, column: Column, policy: str) -> str:
    found = _estimate(simulation, column, policy)
    if found is None or found.mean is None:
        return "-"
    text = column.words(found.mean)
    if any(found.at_least):
        return f">{text}"
    return text if found.half_width is None else f"{text} +-{column.words(found.half_width)}"


def _estimate(simulation: Simulation, column: Column, policy: str) -> Estimate | None:
    for group in simulation.groups:
        for measure in group.measures:
            if (measure.metric, measure.scope) == (column.metric, column.scope):
                return next(e for e in measure.estimates if e.policy == policy)
    return None


if __name__ == "__main__":
    sys.exit(main())
