"""Simulate a night of scheduled defragmentation and print what became of the cluster."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.bench.churn import Runs, Told, run_churn
from scripts.bench.night import Night, Watch, run_night

COLUMNS = (
    "AT     NODES  ALONE  GPUS  ALONE  SLOTS  ALONE  PENDING  ALONE  RUN       PLAN  CUT  MOVED"
)


def line(watch: Watch) -> str:
    """Write one snapshot as a row."""
    run = "ok" if watch.killed_at is None else f"kill {watch.killed_at:.2f}"
    run = run if watch.exit_code in (0, -9) else f"exit {watch.exit_code}"
    a, b = watch.tended, watch.left_alone
    pairs = ((a.nodes, b.nodes), (a.gpus, b.gpus), (a.slots, b.slots), (a.pending, b.pending))
    widths = ((5, 7), (6, 7), (7, 7), (9, 7))
    numbers = "".join(f"{x:{w}}{y:{v}}" for (x, y), (w, v) in zip(pairs, widths, strict=True))
    tail = f"  {run:<9}{watch.planned:5}{watch.cut:5}{watch.moved:7}"
    return f"{watch.at[11:16]} {numbers}{tail}  {'; '.join(watch.faults)}".rstrip()


def churn(night: Night, command: list[str], sources: Path | None) -> None:
    """Go through a night in which nobody follows the plans, with the last plan and without."""
    print("AT     ACTIONS  ALONE  STANDING  ALONE  DIFFER  ALONE  OBJECTIVES")
    told: list[tuple[Told, ...]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sides = (
            Runs(folder / "knows", command, knows=True, sources=sources),
            Runs(folder / "alone", command, knows=False),
        )
        for at, (a, b) in run_churn(night.seed, night.nodes, night.snapshots, folder, sides):
            told.append((a, b))
            verdict = _verdict(a, b)
            numbers = f"{a.steps:7}{b.steps:7}{a.standing:10}{b.standing:7}"
            numbers += f"{a.differing:8}{b.differing:7}"
            print(f"{at[11:16]} {numbers}  {verdict}", flush=True)
    alike = [(a, b) for a, b in told if a.values == b.values]
    for pairs, what in ((told, "all"), (alike, "of equal objectives")):
        differ = [sum(side.differing for side in sides) for sides in zip(*pairs, strict=True)]
        differ = differ or [0, 0]
        print(
            f"{len(pairs)} snapshots {what}: {differ[0]} actions differ from the plan before with "
            f"--last-plan, {differ[1]} without"
        )
    verdicts = [_verdict(a, b) for a, b in told]
    print(", ".join(f"{verdicts.count(v)} {v}" for v in ("equal", "better", "worse")))


def _verdict(a: Told, b: Told) -> str:
    """Compare the objectives of two plans of one snapshot, in their order."""
    mine, others = [*a.values.values()], [*b.values.values()]
    return "equal" if mine == others else "better" if mine < others else "worse"


def main() -> None:
    """Run a night; exit 1 if anything went wrong or the cluster was lower less often than asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    usual = Night()
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--nodes", type=int, default=usual.nodes)
    parser.add_argument("--snapshots", type=int, default=usual.snapshots)
    parser.add_argument("--max-moves", type=int, default=usual.max_moves)
    parser.add_argument("--time-limit", type=float, default=usual.time_limit)
    parser.add_argument("--lower", type=float, default=0.9, help="share of snapshots, at least")
    parser.add_argument(
        "--unfollowed",
        action="store_true",
        help="nobody follows the plans: how much they differ from one another, with --last-plan "
        "and without it",
    )
    parser.add_argument(
        "--by-clock",
        action="store_true",
        help="with --unfollowed: the time limit is in seconds, as users have it; by default work "
        "is counted, so that a night gives the same figures again",
    )
    parser.add_argument(
        "--sources", type=Path, help="with --unfollowed: package that plans with --last-plan"
    )
    given = parser.parse_args()
    night = Night(
        given.seed, given.nodes, given.snapshots, given.max_moves, usual.killed, given.time_limit
    )
    command = ["defrag", "--max-moves", str(night.max_moves)]
    if given.unfollowed:
        command += [] if given.by_clock else ["--deterministic"]
        command += ["--time-limit", f"{night.time_limit}s"]
        churn(night, command, given.sources)
        return
    print(COLUMNS, flush=True)
    watches = []
    with tempfile.TemporaryDirectory() as folder:
        for watch in run_night(night, Path(folder), command):
            watches.append(watch)
            print(line(watch), flush=True)
    lower = sum(watch.lower for watch in watches)
    killed = sum(watch.killed_at is not None for watch in watches)
    faults = sum(bool(watch.faults) for watch in watches)
    moved, most = sum(w.moved for w in watches), max(w.moved for w in watches)
    print(
        f"lower at {lower} of {len(watches)} snapshots; {killed} runs killed; {faults} with faults;"
        f" {moved} moves, at most {most} of {night.max_moves} in a run"
    )
    for what, name in (("nodes", "nodes partly used"), ("gpus", "GPUs free on them")):
        mean = [
            sum(getattr(side, what) for side in sides) / len(watches)
            for sides in zip(*((w.tended, w.left_alone) for w in watches), strict=True)
        ]
        print(f"{name}: {mean[0]:.1f} on average beside {mean[1]:.1f}")
    sys.exit(int(lower < given.lower * len(watches) or bool(faults)))


if __name__ == "__main__":
    main()
