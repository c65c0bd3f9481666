"""Certificates of a suite: how many objectives arithmetic proves and how many only search."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kantopt.schema.dump import dump_json
from kantopt.search.strategy import Strategy
from scripts.bench.case import Case, Documents
from scripts.bench.certified_rows import OURS, Certified
from scripts.bench.measure import versions
from scripts.bench.models import MakeModel, model_text
from scripts.bench.placed import emptied, placed_by
from scripts.bench.process import Processes, Stopped

SUITE = "certificates"
_PATIENCE_SECONDS = 60.0
"""A run that takes so much longer than its limit is ended."""
_FAILED = {"verdict": "", "tiers": []}


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be certified: a case under a model, with a limit for each run."""

    case: Case
    model: str
    make: MakeModel
    limit_seconds: float

    def key(self, judged: str) -> tuple[str, str, int, str, str, float, str]:
        """Return what tells its row from others; see :attr:`Certified.key`."""
        case = self.case
        return (
            *(case.suite, case.instance, case.seed, self.model, judged),
            *(self.limit_seconds, versions()[0]),
        )


def run_all(
    asked: Sequence[Asked],
    strategies: Sequence[str],
    done: Collection[tuple[object, ...]],
    parallel: int,
    tell: Callable[[Certified], None],
) -> None:
    """Certify our plan of each question, or with strategies what each of these makes of it.

    Strategies begin with an empty cluster, take the jobs as the queue of Kubernetes' scheduler
    does, by priority and then as listed, and move nobody.

    Parameters
    ----------
    done
        Keys of rows that there are; these are not made again.
    parallel
        Runs at the same time.
    tell
        Told each row, one at a time.
    """
    lock = threading.Lock()

    processes = Processes()

    def work(one: Asked) -> None:
        wanted = [name for name in strategies or (OURS,) if one.key(name) not in done]
        with contextlib.suppress(Stopped):
            for row in _certified(one, wanted, parallel, processes) if wanted else ():
                with lock:
                    tell(row)

    with ThreadPoolExecutor(parallel) as pool, processes:
        futures = [pool.submit(work, one) for one in asked]
        try:
            for future in futures:
                future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _certified(
    one: Asked, wanted: Sequence[str], parallel: int, processes: Processes
) -> Iterator[Certified]:
    def run(command: str, *arguments: str) -> tuple[float, int, str]:
        return _run(processes, command, limit, *arguments)

    documents = one.case.make()
    model, limit = one.make(documents), one.limit_seconds
    if OURS not in wanted:
        documents = emptied(documents)
    with tempfile.TemporaryDirectory(prefix="kantopt-bench-") as path:
        folder = Path(path)
        (folder / "model.json").write_text(model_text(model), encoding="utf-8")
        asked = [*map(str, documents.write(folder)), "-m", str(folder / "model.json")]
        for judged in wanted:
            given = folder / f"{judged}.json"
            failed = ""
            if judged == OURS:
                *_, failed = run(
                    "plan", *asked, "--time-limit", f"{limit:g}s", "-q", "-O", str(given)
                )
                judge = ("--plan", str(given))
            else:
                after = placed_by(documents, model, Strategy(judged))
                given.write_text(dump_json(after), encoding="utf-8")
                judge = ("--after", str(given))
            certificate = folder / "certificate.json"
            certificate.unlink(missing_ok=True)
            options = (*judge, "--time-limit", f"{limit:g}s", "-q", "-O", str(certificate))
            seconds, _, fault = run("certify", *asked, *options)
            fault = failed or fault
            document = _FAILED
            checked = 0.0
            if certificate.exists():
                document = json.loads(certificate.read_text(encoding="utf-8"))
                checked, code, wrong = run(
                    "verify", "--certificate", str(certificate), *asked[:2], "-o", "name"
                )
                fault = fault or (f"refused: {wrong}" if code else "")
            elif not fault:
                fault = "no certificate"
            yield _row(one, documents, judged, document, seconds, checked, fault, parallel)


def _run(
    processes: Processes, command: str, limit: float, *arguments: str
) -> tuple[float, int, str]:
    """Run a command; return its seconds, exit code and, if it went wrong, what it said."""
    began = time.monotonic()
    try:
        done = processes.call([command, *arguments], limit + _PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        seconds = time.monotonic() - began
        return seconds, 1, f"{command}: ended after {seconds:.0f}s of {limit:g}s"
    said = (done.stderr or done.stdout).strip().splitlines()
    wrong = done.returncode not in (0, 10, 11, 12)
    return time.monotonic() - began, done.returncode, said[-1] if said and wrong else ""


def _row(
    one: Asked,
    documents: Documents,
    judged: str,
    certificate: dict[str, Any],
    certify_seconds: float,
    verify_seconds: float,
    fault: str,
    parallel: int,
) -> Certified:
    case = one.case
    tiers = certificate.get("tiers", [])
    closed = [tier for tier in tiers if tier["status"] == "OPTIMAL"]
    by = [tier["provedBy"] for tier in closed]
    placing = [tier for tier in tiers if tier["metric"] == "unplaced"]
    better = certificate.get("counterExample")
    names = [tier["name"] for tier in tiers]
    group = case.parameters.get("usage") or case.parameters.get("nodes") or ""
    return Certified(
        suite=case.suite,
        instance=case.instance,
        group=f"U={group}" if "usage" in case.parameters else f"{len(documents.snapshot.nodes)}",
        seed=case.seed,
        model=one.model,
        judged=judged,
        verdict=certificate["verdict"],
        tiers=len(tiers),
        arithmetic=by.count("arithmetic"),
        relaxation_search=by.count("relaxation-search"),
        column_generation=by.count("column-generation"),
        cp_sat=by.count("cp-sat"),
        placement_tiers=len(placing),
        placement_arithmetic=sum(
            tier["status"] == "OPTIMAL" and tier["provedBy"] == "arithmetic" for tier in placing
        ),
        differs=names.index(better["tier"]) + 1 if better and better["tier"] in names else 0,
        limit_seconds=one.limit_seconds,
        certify_seconds=round(certify_seconds, 3),
        verify_seconds=round(verify_seconds, 3),
        fault=fault,
        parallel=parallel,
        version=versions()[0],
    )
