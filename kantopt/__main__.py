"""``python -m kantopt`` and the ``kantopt`` command."""

from __future__ import annotations

import gc
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
    # What is loaded and read is kept, and there is a lot of it: garbage is looked for a hundred
    # times as seldom as usual, which took up to a tenth of a short run.
    gc.set_threshold(70_000)
    try:
        from kantopt.cli.endings import run

        code = run(sys.argv[1:])
        # The answer is out. What is left goes with the process, and to look through all of it for
        # garbage on the way would take a tenth of a second.
        gc.freeze()
        return code
    except KeyboardInterrupt:  # while loading, or on the way out
        return 130


if __name__ == "__main__":
    sys.exit(main())
