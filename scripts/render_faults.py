#!/usr/bin/env python3
"""Plans for small clusters, carried out by their scripts while something goes wrong.

    python scripts/render_faults.py                # a sample, as the tests draw it
    python scripts/render_faults.py --full         # the campaign: 500 plans
    python scripts/render_faults.py --seeds 0-99 --workers 2
    python scripts/render_faults.py --seeds 0-99 --patience 30   # beside other work

Each seed is a cluster with pods that wait, planned by the fast engine. `kantopt render --to kubectl
--shell` makes a script of the plan, which the real `kubectl` runs against an API server in memory
(`tests/render/api_server.py`). One thing goes wrong: a refusal (429, 409), a pod that changes or is
made again under its name, replacements that never get ready, a connection lost before or after the
request was carried out, the script ended or killed. Then the script runs again. After each run:
nothing was evicted, pinned or let go that the plan does not name, no later wave has begun before
all of an earlier one was done, no node is left cordoned (but by a script that was killed: until the
next run), and a script that did not end its work says why. Exits with 1 if anything else is found.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
if TYPE_CHECKING:
    from tests.render.kube_trials import Trial

SAMPLE, FULL = 10, 500


def main() -> int:
    """Try the seeds asked for, print counts."""
    from scripts.fuzz import parser_of
    from tests.render.kube_trials import FAULTS

    parser = parser_of(__doc__, SAMPLE, FULL)
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes; default: 1")
    parser.add_argument(
        "--patience",
        type=int,
        default=1,
        metavar="N",
        help="scripts wait N times as long: for a machine that is busy with other work; default: 1",
    )
    args = parser.parse_args()
    seeds = args.seeds or range(FULL if args.full else SAMPLE)
    began, wrong, requests = time.monotonic(), 0, 0
    ended: dict[str, Counter[tuple[int, ...]]] = {fault: Counter() for fault in FAULTS}
    with ProcessPoolExecutor(args.workers) as pool:
        for seed, found in zip(
            seeds, pool.map(partial(one, patience=args.patience), seeds), strict=True
        ):
            wrong += bool(found.wrong)
            requests += found.requests
            ended[found.fault][found.codes] += 1
            for fault in found.wrong:
                print(f"{seed} ({found.fault}): {fault}", file=sys.stderr, flush=True)
    print("FAULT          PLANS  EXIT CODES OF FIRST AND SECOND RUN")
    for fault, codes in ended.items():
        told = ", ".join(f"{n} x {' then '.join(map(str, c))}" for c, n in sorted(codes.items()))
        print(f"{fault:12}{codes.total():>8}  {told}")
    print(
        f"{len(seeds)} plans, {requests} changes, {wrong} wrong, {time.monotonic() - began:.0f} s"
    )
    return 1 if wrong else 0


def one(seed: int, patience: int) -> Trial:
    """Try one seed."""
    from tests.render.kube_trials import trial

    with tempfile.TemporaryDirectory() as folder:
        return trial(seed, Path(folder), patience)


if __name__ == "__main__":
    sys.exit(main())
