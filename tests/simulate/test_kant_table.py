"""The script behind Kant's table: at a small size, from the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SMALL = ("--gpus", "512", "--loads", "0.9", "--seeds", "2", "--for", "3h", "--warm-up", "30m")
POLICIES = "kube-default,e-binpack,e-spread-zone"


def table(folder: Path) -> str:
    script = (sys.executable, str(ROOT / "scripts" / "kant_table.py"), "--out", str(folder))
    command = [*script, *SMALL, "--policies", POLICIES, "--workers", "1"]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout


def test_policies_stand_beside_each_other_and_what_is_there_is_not_simulated_again(
    tmp_path: Path,
) -> None:
    first = table(tmp_path)
    rows = [line.split()[0] for line in first.splitlines() if line.startswith(("kube", "e-"))]
    assert rows == POLICIES.split(",")
    cell = tmp_path / "512-0.9"
    assert {picture.name for picture in cell.glob("*.svg")} == {
        "fragmentation-over-time.svg",
        "gpus-over-time.svg",
        "waiting-times.svg",
    }
    written = (cell / "simulation.json").stat().st_mtime_ns
    again = table(tmp_path)
    assert (cell / "simulation.json").stat().st_mtime_ns == written
    assert [line for line in again.splitlines() if " s, in " not in line] == [
        line for line in first.splitlines() if " s, in " not in line
    ]
