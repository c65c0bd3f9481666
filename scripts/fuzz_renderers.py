#!/usr/bin/env python3
"""Names that want to be commands, documents or markup, through every renderer.

    python scripts/fuzz_renderers.py               # a sample, as the tests draw it
    python scripts/fuzz_renderers.py --full        # the campaign: 10,000 plans through each
    python scripts/fuzz_renderers.py --seeds 0-499 --only 'kubectl --shell' --only svg

Each seed is a plan, or a cluster with one, of which all strings are drawn from what shells, YAML,
markup and terminals may take for their own. What comes out is read as those read it who it is for
(``tests/render/trials.py``): scripts run where every command is a stub that writes down its words.
Exits with 1 if anything ran, or was read, that is not in the plan.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

SAMPLE, FULL = 40, 10_000


def main() -> int:
    """Try the seeds asked for, print counts."""
    from scripts.fuzz import parser_of
    from tests.render.trials import TRIALS

    parser = parser_of(__doc__, SAMPLE, FULL)
    parser.add_argument(
        "--only", action="append", choices=list(TRIALS), help="this renderer; repeatable"
    )
    args = parser.parse_args()
    seeds = args.seeds or range(FULL if args.full else SAMPLE)
    faulty = 0
    for name in args.only or TRIALS:
        began, wrong = time.monotonic(), 0
        with tempfile.TemporaryDirectory() as folder:
            for seed in seeds:
                faults = TRIALS[name](seed, Path(folder))
                wrong += bool(faults)
                for fault in faults:
                    print(f"{name} {seed}: {fault!a}", file=sys.stderr)
        seconds = time.monotonic() - began
        print(f"{name:20}{len(seeds):>8} plans{wrong:>8} wrong{seconds:>8.0f} s", flush=True)
        faulty += wrong
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
