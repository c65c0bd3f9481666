"""What of the house a command can count: the last column of docs/architecture.md.

python scripts/measure_house.py
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "kantopt"
ASKED = ROOT / "instances" / "golden" / "victims-and-moves-that-free-a-node.yaml"
FORKS = re.compile(r"os\.fork\(|\.Process\(")
CUTS = re.compile(r"\.less\(|\.share\(|deadline\.at_(least|most)\(")
TIMED = re.compile(r"\b(deadline|Deadline)\b")
_PATIENCE_SECONDS = 120
_TRACED = '''
import sys, traceback
from pathlib import Path
from ortools.sat.python import cp_model
from kantopt.cli.endings import run
from kantopt.planning.solving.solver_process import SolverProcess

package, out, *arguments = sys.argv[1:]

def noted(function, first):
    """Note the functions on the way, the first one included, as often as it is called."""
    def called(*given, **named):
        stack = [f for f in traceback.extract_stack() if f.filename.startswith(package)]
        names = [f.name for f in stack]
        if first in names:
            way = [f"{Path(f.filename).relative_to(package)}: {f.name}" for f in stack]
            Path(out, first).write_text("\\n".join(way[names.index(first):]), encoding="utf-8")
        return function(*given, **named)
    return called

SolverProcess.begin = noted(SolverProcess.begin, "plan")
cp_model.CpSolver.solve = noted(cp_model.CpSolver.solve, "serve")
cp_model.CpSolver.Solve = cp_model.CpSolver.solve
sys.exit(run(arguments))
'''


def modules(pattern: re.Pattern[str]) -> list[str]:
    """Return the modules of the package in which a pattern occurs."""
    return [
        str(path.relative_to(PACKAGE))
        for path in sorted(PACKAGE.rglob("*.py"))
        if pattern.search(path.read_text(encoding="utf-8"))
    ]


def users() -> dict[str, set[str]]:
    """Return for each module of the package those that import it or a name of it."""
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(PACKAGE.rglob("*.py"))
    }
    found: dict[str, set[str]] = {name: set() for name in paths}
    for name, path in paths.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            asked: list[str] = []
            if isinstance(node, ast.ImportFrom) and node.module:
                asked = [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
            elif isinstance(node, ast.Import):
                asked = [each.name for each in node.names]
            for each in asked:
                if each in found:
                    found[each].add(name)
    return found


def lines() -> int:
    """Count the lines of the package, empty ones and comments included."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in PACKAGE.rglob("*.py"))


def way_to_cp_sat() -> list[str]:
    """Return the functions between `plan` and the call of CP-SAT's solver, in both processes.

    From the command to where the task is given to the solver's process, and from what that process
    does first to the call.
    """
    with tempfile.TemporaryDirectory(prefix="kantopt-house-") as folder:
        # Told to do without the quick bounds, CP-SAT has to prove it.
        asked = ["plan", str(ASKED), "--engine", "exact", "--time-limit", "60s", "-o", "name"]
        for name in ("relaxation", "cutting-stock", "bin-completion", "domains"):
            asked += ["--without", name]
        subprocess.run(
            [sys.executable, "-c", _TRACED, str(PACKAGE), folder, *asked],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=_PATIENCE_SECONDS,
        )
        here, there = (Path(folder, name).read_text("utf-8") for name in ("plan", "serve"))
    # Where the task is given to the process is the call itself: it is the last of the first half.
    return [*here.splitlines(), "planning/solving/solver_process.py: begin", *there.splitlines()]


def main() -> int:
    """Print the figures."""
    way = way_to_cp_sat()
    files = {step.partition(":")[0] for step in way}
    print(f"workers: {len(modules(FORKS))} ({', '.join(modules(FORKS))})")
    timed = {*modules(TIMED)} - {"clock.py"}
    cutting = [name for name in modules(CUTS) if name in timed]
    print(f"files that cut the clock: {len(cutting)} ({', '.join(cutting)})")
    print(f"functions between plan and CP-SAT: {len(way)} in {len(files)} files")
    print("".join(f"  {step}\n" for step in way), end="")
    by_module = users()
    single = [name for name, others in by_module.items() if len(others) == 1]
    print(f"modules: {len(by_module)}, of these imported by exactly one other: {len(single)}")
    print(f"lines of the package: {lines()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
