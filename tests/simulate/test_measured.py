"""The script that measures what an event costs: at a small size, from the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent.parent


def test_a_line_for_each_number_of_jobs_and_a_plot_of_them(tmp_path: Path) -> None:
    plot = tmp_path / "cost.svg"
    command = [sys.executable, str(ROOT / "scripts" / "measure_simulation.py")]
    command += ["--jobs", "20,40", "--gpus", "256", "--policy", "easy", "-O", str(plot)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert [row[:2] for row in rows] == [["20", "40"], ["40", "80"]]  # each comes and ends
    drawn = ElementTree.parse(plot).getroot()
    said = {each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert {row[3] for row in rows} <= said
