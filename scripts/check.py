"""Install what the tests need into ``.venv-dev`` and run lint, types and tests."""

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

    if len(sys.argv) > 1:
        tool("pytest", *sys.argv[1:])
        return
    tool("ruff", "check", ".")
    tool("ruff", "format", "--check", ".")
    tool("mypy")
    tool("pytest", "-n", "2", "--dist", "worksteal", "--cov", f"--cov-fail-under={COVERAGE}")


if __name__ == "__main__":
    main()
