"""All runs of a benchmark: each case under each model, engine and limit, some at the same time."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from scripts.bench.case import Case
from scripts.bench.compiled import compiled_sources
from scripts.bench.measure import Asked, Run, row_of, versions
from scripts.bench.models import MakeModel, model_text
from scripts.bench.process import Processes
from scripts.bench.row import Row
from scripts.bench.table import Table


@dataclass(frozen=True, slots=True)
class Campaign:
    """What to run: every combination."""

    cases: tuple[Case, ...]
    models: Mapping[str, MakeModel]
    engines: tuple[str, ...]
    limits_seconds: tuple[float, ...]
    parallel: int = 1

    def asked(self, case: Case) -> list[Asked]:
        """How a case is asked."""
        return [
            (engine, model, limit)
            for limit in self.limits_seconds
            for model in list(self.models)[: 1 if case.one_model else None]
            for engine in self.engines
        ]

    @property
    def total(self) -> int:
        """Number of rows."""
        return sum(len(self.asked(case)) for case in self.cases)


def run(
    campaign: Campaign, table: Table, *, resume: bool, tell: Callable[[Row | None], None]
) -> None:
    """Run what the table does not hold yet, and append a row as soon as it is known.

    Parameters
    ----------
    resume
        Leave out what the table already holds of the same versions.
    tell
        Called in this thread for each row; with ``None`` for one that was there before.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C; the rows so far are in the table.
    """
    done = {row.key for row in table.rows} if resume else set()
    names = versions()
    with (
        tempfile.TemporaryDirectory(prefix="kantopt-bench-") as folder,
        Processes(compiled_sources(Path(folder))) as processes,
        ThreadPoolExecutor(campaign.parallel) as pool,
    ):
        try:
            waiting: set[Future[list[Row]]] = set()
            lock = threading.Lock()
            for case in campaign.cases:
                todo = []
                for asked in campaign.asked(case):
                    engine, model, limit = asked
                    key = (case.suite, case.instance, case.seed, engine, model, limit)
                    if (*key, *names[:2]) in done:
                        tell(None)
                    else:
                        todo.append(asked)
                if not todo:
                    continue
                job = _CaseRun(case, tuple(todo), campaign, processes, lock)
                waiting.add(pool.submit(job.rows, Path(folder), table, tell))
                # A short queue: instances are made when needed and forgotten afterwards.
                while len(waiting) > campaign.parallel:
                    ready, waiting = wait(waiting, 0.2, FIRST_COMPLETED)
                    _raise_any(ready)
            while waiting:
                ready, waiting = wait(waiting, 0.2, FIRST_COMPLETED)
                _raise_any(ready)
        finally:
            processes.stop()


def _raise_any(futures: set[Future[list[Row]]]) -> None:
    for future in futures:
        future.result()


@dataclass(frozen=True, slots=True)
class _CaseRun:
    """The runs of one case, one after the other."""

    case: Case
    asked: tuple[Asked, ...]
    campaign: Campaign
    processes: Processes
    lock: threading.Lock

    def rows(self, folder: Path, table: Table, tell: Callable[[Row | None], None]) -> list[Row]:
        """Run all, tell each row; fewer rows if it was stopped."""
        rows: list[Row] = []
        if self.processes.stopped:
            return rows
        made = self.case.make()
        with tempfile.TemporaryDirectory(dir=folder) as own:
            documents = made.write(Path(own))
            called = made.pending_pods() > 0 or not self.case.for_pending
            for asked in self.asked:
                _, model, limit = asked
                plan = Path(own) / "plan.json"
                plan.unlink(missing_ok=True)
                asking = Path(own) / "model.json"
                text = model_text(self.campaign.models[model](made))
                asking.write_text(text, encoding="utf-8")
                files = (*documents, asking)
                ran = None
                if called:
                    arguments = _arguments(files, asked, plan)
                    arguments += [w for name in self.case.without for w in ("--without", name)]
                    ran = self.processes.plan(arguments, limit, Path(own))
                    if ran is None:
                        return rows
                run = Run(self.case, made, asked, self.campaign.parallel)
                row = row_of(run, ran, files, plan)
                if self.processes.stopped:
                    return rows
                with self.lock:
                    table.add(row)
                    tell(row)
                rows.append(row)
        return rows


def _arguments(files: Sequence[Path], asked: Asked, plan: Path) -> list[str]:
    engine, _, limit = asked
    *documents, model = map(os.fspath, files)
    more = ["-m", model, "--engine", engine, "--time-limit", f"{limit:g}s"]
    return [*documents, *more, "-o", "json", "-O", os.fspath(plan)]
