"""How large a page is and how soon it can be used, at four sizes of a cluster, in Chromium.

A cluster of gangs (that of ``scripts/bench gangs``) in which some nodes are not ready, cordoned or
tainted and some of another kind; a plan by the fast path; the page of both. Printed are bytes,
seconds that the page took to be written, seconds from the start of loading until it can be used,
messages of the console, addresses asked for beside the page's own, and serious faults that axe-core
finds (tests/browser.py says which one). Chromium and its driver are Debian's chromium and
chromium-driver.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kantopt.schema.base import API_VERSION
from kantopt.schema.dump import dump_json
from kantopt.schema.jobs import JobList
from kantopt.schema.snapshot import Node, Taint
from scripts.bench.case import Documents
from scripts.bench.gangs import kant
from tests.browser import browser, console, faults, missing, opened, picture_of_page, requests

ROOT = Path(__file__).resolve().parent.parent
SIZES = (12, 200, 2000, 10_000)
_TAINT = Taint(key="team", value="vision", effect="NoSchedule")


def cluster(nodes: int, seed: int = 1) -> Documents:
    """Make a cluster up: gangs on nodes of two kinds, some of which are closed to pods."""
    made = kant(nodes, 0.85, seed, None)

    def changed(n: int, node: Node) -> Node:
        product = "NVIDIA-A100-SXM4-80GB" if n % 17 == 3 else "NVIDIA-H100-80GB-HBM3"
        return node.model_copy(
            update={
                "labels": {**node.labels, "nvidia.com/gpu.product": product},
                "ready": n % 97 != 11,
                "unschedulable": n % 61 == 7,
                "taints": (_TAINT,) if n % 53 == 5 else (),
            }
        )

    changed_nodes = tuple(changed(n, node) for n, node in enumerate(made.snapshot.nodes))
    return Documents(made.snapshot.model_copy(update={"nodes": changed_nodes}), made.pending)


def write_page(nodes: int, folder: Path, limit: str) -> tuple[Path, float]:
    """Write cluster, plan and page as users do; return the page and the seconds it took."""
    made = cluster(nodes)
    files = [folder / f"{nodes}-{name}.json" for name in ("snapshot", "jobs", "plan")]
    files[0].write_text(dump_json(made.snapshot))
    jobs = JobList(api_version=API_VERSION, kind="JobList", jobs=made.pending)
    files[1].write_text(dump_json(jobs))
    asked = ["plan", *map(str, files[:2]), "--engine", "fast", "--time-limit", limit]
    _kantopt(*asked, "-q", "-o", "json", "-O", str(files[2]))
    page = folder / f"{nodes}.html"
    start = time.monotonic()
    _kantopt("render", *map(str, files), "--to", "html", "-q", "-O", str(page))
    return page, time.monotonic() - start


def _kantopt(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "kantopt", *arguments], cwd=ROOT, check=True)


def main() -> None:
    """Print one row per size; exit 1 if any page has an error or a fault."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--nodes", type=int, nargs="+", default=SIZES, help="sizes to measure")
    arguments.add_argument("--time-limit", default="60s", help="of each plan (default: 60s)")
    arguments.add_argument("--keep", type=Path, help="folder for pages, documents and PNGs")
    asked = arguments.parse_args()
    if missing():
        sys.exit(f"not there: {missing()}")
    wrong = False
    with tempfile.TemporaryDirectory() as temporary, browser() as driver:
        folder = asked.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        print("nodes  waves      bytes  written, s  ready, s  console  asked for  faults")
        for nodes in asked.nodes:
            page, written = write_page(nodes, folder, asked.time_limit)
            requests(driver)
            ready = opened(driver, page)
            others = [url for url in requests(driver) if not url.startswith(("file:", "data:"))]
            said = console(driver)
            found = faults(driver)
            counts = f"{len(said):7}  {len(others):9}  {len(found):6}"
            size = page.stat().st_size
            waves = len(json.loads((folder / f"{nodes}-plan.json").read_text())["waves"])
            row = f"{nodes:5}  {waves:5} {size:10,}  {written:10.1f}  {ready:8.2f}"
            print(f"{row}  {counts}", flush=True)
            for line in (*said, *others, *found):
                print(f"      {line}")
            wrong = wrong or bool(said or others or found)
            if asked.keep is not None:
                picture_of_page(driver, folder / f"{nodes}.png")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
