"""Install what the tests need into ``.venv-dev`` and run lint, types and tests.

python scripts/check.py                 # all of them
python scripts/check.py tests/test_x.py # only these tests, or any arguments of pytest
python scripts/check.py --coverage      # the tests, traced: they last twice as long
"""

from __future__ import annotations

import sys

import environment

COVERAGE = 90
"""Least coverage of ``kantopt/``, branches included, in percent."""


def main() -> None:
    """Run all checks, or only the tests named on the command line."""
    programs = environment.make(".venv-dev", "--editable", ".[dev]")

    def tool(name: str, *arguments: str) -> None:
        print(f"\n$ {name}", *arguments, flush=True)
        environment.run([str(programs / "python"), "-m", name, *arguments])

    tests = ("-n", "2", "--dist", "worksteal")
    if sys.argv[1:] == ["--coverage"]:
        tool("pytest", *tests, "--cov", f"--cov-fail-under={COVERAGE}")
        return
    if len(sys.argv) > 1:
        tool("pytest", *sys.argv[1:])
        return
    tool("ruff", "check", ".")
    tool("ruff", "format", "--check", ".")
    tool("mypy")
    tool("pytest", *tests)


if __name__ == "__main__":
    main()
