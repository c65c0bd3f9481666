"""How much answers print at several sizes: lines and the longest line, of each command that plans.

    python scripts/measure_answers.py                            # 30, 200, 2,000 and 10,000 nodes
    python scripts/measure_answers.py --nodes 200 --only drain

The clusters are those of ``scripts/measure_page.py``, the plan is one of the fast path. Each
command runs twice as users run it, on a terminal of 100 columns and in a pipe, where nothing may be
cut off; in a pipe lines are as long as what they name. Seconds are of CPU, from the plan as a
document to the text, modules loaded before. Exits with 1 if an answer is longer or wider than a
screen.
"""

from __future__ import annotations

import argparse
import os
import pty
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import kantopt
from kantopt.report.blocks import Screen, render
from kantopt.report.terminal import plan_blocks
from kantopt.schema.answers.plan import Plan
from kantopt.schema.base import API_VERSION
from kantopt.schema.dump import dump_json
from kantopt.schema.jobs import JobList
from scripts.environment import ROOT
from scripts.measure_page import cluster

SIZES = (30, 200, 2000, 10_000)
WIDTH, LINES = 100, 60
CUT = "…"
_ENDINGS = range(64)
"""Exit codes that come with an answer; from 64 on there is none."""


def commands(files: list[str], plan: str, job: str, nodes: list[str]) -> dict[str, list[str]]:
    """Return the words of each command about these files."""
    snapshot, _ = files
    return {
        "plan": ["plan", *files],
        "plan, fast": ["plan", *files, "--engine", "fast"],
        "defrag": ["defrag", snapshot, "--goal", "empty-nodes=+2"],
        "drain": ["drain", *nodes, "-f", snapshot],
        "explain": ["explain", *files, job],
        "capacity": ["capacity", *files, job],
        "certify": ["certify", *files, plan],
        "verify": ["verify", *files, plan],
        "metrics": ["metrics", *files, plan],
        "show": ["show", plan],
    }


def on_a_terminal(words: list[str]) -> tuple[int, str]:
    """Run a command whose standard output is a terminal; return its exit code and what it said."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(WIDTH), "LINES": str(LINES), "NO_COLOR": "1"}
    running = subprocess.Popen(words, cwd=ROOT, stdout=theirs, env=environment)
    os.close(theirs)
    said = b""
    try:
        while piece := os.read(ours, 1 << 16):
            said += piece
    except OSError:
        pass  # how Linux says that nobody writes to the terminal any more
    os.close(ours)
    return running.wait(), said.decode()


def in_a_pipe(words: list[str]) -> tuple[int, str]:
    """Run a command whose standard output is a pipe; return its exit code and what it said."""
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


def seconds_of_printing(plan: Plan) -> float:
    """Return the CPU seconds that the table of a plan takes."""
    start = time.process_time()
    render(plan_blocks(plan), Screen(WIDTH))
    return time.process_time() - start


def measure(nodes: int, only: list[str], limit: str, folder: Path) -> bool:
    """Print a row for each command at one size; return whether all fit."""
    made = cluster(nodes)
    waiting = JobList(api_version=API_VERSION, kind="JobList", jobs=made.pending)
    plan = kantopt.plan(kantopt.read(made.snapshot, waiting), engine="fast", time_limit=30)
    files = {"snapshot": made.snapshot, "jobs": waiting, "plan": plan}
    for name, document in files.items():
        (folder / f"{name}.json").write_text(dump_json(document))
    paths = [str(folder / f"{name}.json") for name in files]
    drained = [node.name for node in made.snapshot.nodes[:3]]
    asked = commands(paths[:2], paths[2], made.pending[0].name, drained)
    fits = True
    for name, words in asked.items():
        if only and name.split(",")[0] not in only:
            continue
        whole = [sys.executable, "-m", "kantopt", *words, "-q"]
        if words[0] not in ("verify", "metrics", "show"):
            whole += ["--time-limit", limit]
        code, text = on_a_terminal(whole)
        shown = text.splitlines()
        piped = in_a_pipe(whole)[1]
        longest = max(map(len, shown), default=0), max(map(len, piped.splitlines()), default=0)
        fits &= bool(shown) and len(shown) <= LINES and longest[0] <= WIDTH
        fits &= code in _ENDINGS and CUT not in piped
        row = f"{nodes:5}  {name:14}  {code:4}  {len(shown):5}  {longest[0]:13}  {longest[1]:9}"
        seconds = f"{seconds_of_printing(plan):7.3f}" if name == "show" else ""
        print(f"{row}  {seconds}".rstrip(), flush=True)
        for line in shown:
            if len(line) > WIDTH:
                print(f"       {line}", flush=True)
    return fits


def main() -> None:
    """Print the table; exit 1 if an answer does not fit."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--nodes", type=int, nargs="+", default=SIZES, help="sizes to measure")
    arguments.add_argument("--only", action="append", default=[], help="this command; repeatable")
    arguments.add_argument("--time-limit", default="20s", help="of each command (default: 20s)")
    given = arguments.parse_args()
    print("nodes  command         code  lines  on a terminal  in a pipe  seconds", flush=True)
    fits = True
    for nodes in given.nodes:
        with tempfile.TemporaryDirectory() as folder:
            fits &= measure(nodes, given.only, given.time_limit, Path(folder))
    sys.exit(not fits)


if __name__ == "__main__":
    main()
