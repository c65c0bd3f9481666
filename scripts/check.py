"""Install what the tests need into ``.venv-dev`` and run lint, types and tests.

python scripts/check.py                 # all of them
python scripts/check.py tests/test_x.py # only these tests, or any arguments of pytest
python scripts/check.py --coverage      # the tests, traced: they last twice as long
python scripts/check.py --system        # all, with Debian's packages of what tests drive

Tests that drive a program which is not there are skipped and say so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from threading import Thread

import environment

COVERAGE = 90
"""Least coverage of ``kantopt/``, branches included, in percent."""

DRIVEN = {
    "kubectl": "kubernetes-client",
    "chromium": "chromium",
    "chromedriver": "chromium-driver",
    "munged": "munge",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "squeue": "slurm-client",
    "shellcheck": "shellcheck",
}
"""Programs that tests drive, each with the Debian package that has it."""


def main() -> None:
    """Run all checks, or only the tests named on the command line."""
    arguments = sys.argv[1:]
    driven = DRIVEN if arguments[:1] == ["--system"] else {}
    if driven:
        del arguments[0]
    # Packages of Debian and of Python know nothing of each other: the ones beside the others.
    system = Thread(target=environment.system_packages, args=(driven,))
    system.start()
    # Most of what is installed is never loaded: what is compiles itself, once for all processes,
    # which containers like to forbid.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    wanted = ("--no-compile", "--editable", ".[dev]")
    python = str(environment.make(".venv-dev", *wanted) / "python")

    def tool(name: str, *arguments: str) -> None:
        print(f"\n$ {name}", *arguments, flush=True)
        environment.run([python, "-m", name, *arguments])

    # One more than the cores of a small machine: many tests wait for clocks, daemons and processes.
    tests = ("-n", "3", "--dist", "worksteal")
    if arguments:
        system.join()
        coverage = ("--cov", f"--cov-fail-under={COVERAGE}")
        tool("pytest", *((*tests, *coverage) if arguments == ["--coverage"] else arguments))
        return
    # Types take a minute of one processor: beside the rest, of which some waits, they cost less.
    with subprocess.Popen(
        [python, "-m", "mypy"],
        cwd=environment.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as types:
        try:
            tool("ruff", "check", ".")
            tool("ruff", "format", "--check", ".")
            system.join()
            tool("pytest", *tests)
        finally:
            print("\n$ mypy", types.communicate()[0], sep="\n", end="", flush=True)
    if types.returncode:
        sys.exit(types.returncode)


if __name__ == "__main__":
    main()
