#!/usr/bin/env python3
"""A real Slurm on this machine, a busy cluster, and a plan that is followed there.

    python scripts/slurm_story.py               # 8 nodes, 2 leaves
    python scripts/slurm_story.py --nodes 64    # 8 leaves

On the first two leaves the story of ``tests/slurm`` happens; the others run gangs of their own.
Prints what Slurm alone makes of it, the plan, what the script says, and what runs then. Exits with
1 if a job runs elsewhere than planned. Needs root and Debian's slurmctld, slurmd, slurm-client and
munge.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.slurm.cluster import Slurm, missing
from tests.slurm.story import begin, follow, script, state_of, submit


def main() -> int:
    """Tell the story at the size asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=8, help="nodes, a multiple of the leaf's")
    parser.add_argument(
        "--per-leaf", type=int, help="nodes of a leaf; default 4, from 32 nodes on 8"
    )
    args = parser.parse_args()
    per_leaf = args.per_leaf or (8 if args.nodes >= 32 else 4)
    if args.nodes % per_leaf or args.nodes < 2 * per_leaf or per_leaf % 2:
        parser.error("expected at least two leaves of an even number of nodes")
    reason = missing()
    if reason is not None:
        print(reason, file=sys.stderr)
        return 1
    began = time.monotonic()

    def told(text: str) -> None:
        print(f"[{time.monotonic() - began:6.1f} s] {text}", flush=True)

    with Slurm(args.nodes, per_leaf) as slurm:
        told(f"{args.nodes} nodes are up, {len(slurm.leaves)} leaves of {per_leaf}")
        for leaf in slurm.leaves[2:]:
            submit(slurm, "others", len(leaf), f"--nodelist={','.join(leaf)}")
        story = begin(slurm)
        told("Slurm alone:")
        print(slurm.run("squeue", "--format=%.6i %.9P %.8j %.10T %.5D %R"))
        path = script(slurm, "--time-limit", "10s")
        told("planned and rendered:")
        print("\n".join(line for line in path.read_text().splitlines()[:20] if line))
        done = follow(slurm, path)
        told(f"the script ends with {done.returncode}:\n{done.stdout}")
        print(slurm.run("squeue", "--format=%.6i %.9P %.8j %.10T %.5D %R"))
        states = state_of(slurm, story)
        right = done.returncode == 0 and states["gang"] == ("RUNNING", tuple(slurm.leaves[0]))
    left = slurm.processes()
    told(f"{'as planned' if right else 'NOT as planned'}; {len(left)} processes left")
    return 0 if right and not left else 1


if __name__ == "__main__":
    sys.exit(main())
