"""Install kantopt into ``.venv`` and plan the quickstart cluster."""

from __future__ import annotations

import sys

import environment

QUICKSTART = ["instances/quickstart/snapshot.yaml", "instances/quickstart/jobs.yaml"]


def main() -> None:
    """Install, then show the command and run it."""
    programs = environment.make(".venv", ".")
    print("\n$ kantopt plan", *QUICKSTART, flush=True)
    environment.run([str(programs / "kantopt"), "plan", *QUICKSTART, *sys.argv[1:]])


if __name__ == "__main__":
    main()
