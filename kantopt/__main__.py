"""``python -m kantopt`` and the ``kantopt`` command."""

from __future__ import annotations

import sys

import kantopt.clock  # noqa: F401  first of all: time counts from here where the system is silent


def main() -> int:
    """Run the command line; returns the exit code."""
    try:
        from kantopt.cli.endings import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:  # while loading, or on the way out
        return 130


if __name__ == "__main__":
    sys.exit(main())
