"""Run whole processes of kantopt on instances and say what they did.

python scripts/bench SUITE    # suites and options: --help, and instances/README.md
"""

from __future__ import annotations

import sys
from pathlib import Path

# Of a folder that is run, only the folder itself is known.
sys.path[0] = str(Path(__file__).resolve().parents[2])

from scripts.bench.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
