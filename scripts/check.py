"""Install what the tests need into ``.venv-dev`` and run lint, types and tests.

python scripts/check.py                 # all of them
python scripts/check.py tests/test_x.py # only these tests, or any arguments of pytest
python scripts/check.py --coverage      # the tests, traced: they last twice as long
python scripts/check.py --system        # all, with Debian's packages of what tests drive

Tests that drive a program which is not there are skipped and say so.
"""

from __future__ import annotations

import subprocess
import sys

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
    if arguments[:1] == ["--system"]:
        environment.system_packages(DRIVEN)
        del arguments[0]
    programs = environment.make(".venv-dev", "--editable", ".[dev]")

    def tool(name: str, *arguments: str) -> None:
        print(f"\n$ {name}", *arguments, flush=True)
        environment.run([str(programs / "python"), "-m", name, *arguments])

    # One more than there are cores on a small machine: some tests wait for clocks and daemons.
    tests = ("-n", "3", "--dist", "worksteal")
    if arguments == ["--coverage"]:
        tool("pytest", *tests, "--cov", f"--cov-fail-under={COVERAGE}")
        return
    if arguments:
        tool("pytest", *arguments)
        return
    tool("ruff", "check", ".")
    tool("ruff", "format", "--check", ".")
    # Types take a minute of one processor: beside the tests, of which some wait, they cost less.
    mypy = [str(programs / "python"), "-m", "mypy"]
    with subprocess.Popen(
        mypy, cwd=environment.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as types:
        try:
            tool("pytest", *tests)
        finally:
            print("\n$ mypy", types.communicate()[0], sep="\n", end="", flush=True)
    if types.returncode:
        sys.exit(types.returncode)


if __name__ == "__main__":
    main()
