"""``python -m kantopt`` and the ``kantopt`` command."""

from __future__ import annotations

import os
import sys

import kantopt.clock  # noqa: F401  first of all: time counts from here where the system is silent

# What libraries do as they are loaded and we have no use for: threads for matrices, of which there
# are none to speak of, would take the core that the solver loads on; plugins of others would have a
# say in what a document is.
_WITHOUT = {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"}


def main() -> int:
    """Run the command line; returns the exit code."""
    for name, value in _WITHOUT.items():
        os.environ.setdefault(name, value)
    try:
        from kantopt.cli.endings import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:  # while loading, or on the way out
        return 130


if __name__ == "__main__":
    sys.exit(main())
