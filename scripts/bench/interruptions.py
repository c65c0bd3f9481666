"""Never nothing: runs that are interrupted at random moments, and what they leave behind.

After each trial the exit code must be the one documented, the plan complete and accepted by the
judge, stderr without anything but news and warnings, and no temporary file or process left. A
signal that comes before there is an answer leaves no plan, and one line that says so.
"""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path

from kantopt.errors import InterruptedEarlyError
from kantopt.report.blocks import Block, Paragraph, Table
from kantopt.schema.answers.plan import Plan
from scripts.bench.drawn import WAYS, Drawn, draw
from scripts.bench.interrupted import PHASES, Ended, Phase, run_interrupted
from scripts.bench.measure import read_plan, verified_by_judge

SUITE = "interruptions"
SEARCHING: tuple[Phase, ...] = ("search", "improved")
"""Phases in which the solver runs."""
_CODES = {"kill": 0, "memory": 0, "SIGINT": 130, "SIGTERM": 143}
_SAID = {
    "kill": "the solver process ended",
    "memory": "the memory limit",
    "SIGINT": "interrupted by SIGINT",
    "SIGTERM": "interrupted by SIGTERM",
}
_MOST_SECONDS_TO_END = 5.0
_LAST_SECONDS = 0.5
"""Of the limit: then a run may be past searching."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One row: a trial and what it left behind; ``faults`` is empty if all is as it should be."""

    number: int
    way: str
    phase: Phase
    instance: str
    nodes: int
    model: str
    engine: str
    limit_seconds: float
    memory_mib: int | None
    at_seconds: float | None
    after_seconds: float
    exit_code: int
    base_mib: int
    peak_mib: int
    status: str
    verified: str
    faults: str


COLUMNS = tuple(each.name for each in fields(Trial))


def run_trial(drawn: Drawn) -> Trial:
    """Make the instance, plan, interrupt, and judge what is left."""
    with tempfile.TemporaryDirectory(prefix="kantopt-bench-") as folder:
        files, temporary, out = (Path(folder) / name for name in ("files", "temporary", "out"))
        for each in (files, temporary, out):
            each.mkdir()
        plan = out / "plan.json"
        *documents, model = drawn.asked.write(files)
        arguments = [*map(str, documents), "-m", str(model), "--engine", drawn.engine]
        arguments += ["--time-limit", f"{drawn.limit_seconds:g}s", "-o", "json", "-O", str(plan)]
        if drawn.memory_mib is not None:
            arguments += ["--memory-limit", f"{drawn.memory_mib}Mi"]
        ended = run_interrupted(arguments, drawn.way, drawn.moment, temporary)
        strays = [path.name for path in (*temporary.iterdir(), *out.iterdir()) if path != plan]
        document, note = read_plan(plan)
        verified, found = (
            ("early" if _early(drawn, ended) else "", "")
            if document is None
            else verified_by_judge((*documents, model), plan)
        )
    said = () if document is None else document.warnings
    phase = ended.phase
    if drawn.way == "memory" and not any(_SAID["memory"] in text for text in said):
        phase = "finished"  # the limit was never near
    faults = [
        *_faults(drawn, ended, phase, document),
        *([found] if found else [note] if note else []),
        *(f"left {name}" for name in strays),
    ]
    return Trial(
        number=drawn.number,
        way=drawn.way,
        phase=phase,
        instance=drawn.asked.instance,
        nodes=drawn.asked.nodes,
        model=drawn.asked.model,
        engine=drawn.engine,
        limit_seconds=drawn.limit_seconds,
        memory_mib=drawn.memory_mib,
        at_seconds=ended.at_seconds,
        after_seconds=ended.after_seconds,
        exit_code=ended.exit_code,
        base_mib=ended.base_mib,
        peak_mib=ended.peak_mib,
        status="" if document is None else document.solver.status,
        verified=verified,
        faults="; ".join(faults),
    )


def _faults(drawn: Drawn, ended: Ended, phase: Phase, plan: Plan | None) -> Iterator[str]:
    unknown = plan is not None and plan.solver.status == "UNKNOWN"  # reading took all the time
    expected = _CODES[drawn.way] if phase != "finished" else 3 if unknown else 0
    # Who comes to the end by himself while the signal is on its way has not been interrupted.
    over = plan is not None and (plan.solver.status == "OPTIMAL" or _late(drawn, ended))
    # Before the question is built there is nothing that could be planned, and a line says so.
    early = plan is None and _early(drawn, ended)
    if ended.exit_code != expected and not (over and ended.exit_code == 0):
        yield f"exit code {ended.exit_code} of {expected}"
    if plan is None:
        if not early:
            yield "no plan"
    elif (
        _matters(drawn, ended, phase)
        and plan.solver.status != "OPTIMAL"
        and not any(_SAID[drawn.way] in text for text in plan.warnings)
    ):
        yield f"the plan does not say {_SAID[drawn.way]!r}"
    for line in () if early else ended.complaints:
        yield f"stderr: {line}"
    if ended.left:
        yield f"{ended.left} processes left"
    signalled = ended.at_seconds is not None and drawn.way != "kill"
    if signalled and ended.after_seconds > _MOST_SECONDS_TO_END:
        yield f"{ended.after_seconds:.1f} of {_MOST_SECONDS_TO_END:g} seconds to end"
    most = max(drawn.memory_mib or 0, ended.base_mib)
    if drawn.memory_mib is not None and 10 * ended.peak_mib > 11 * most:
        yield f"{ended.peak_mib} of {drawn.memory_mib} MiB"


def _matters(drawn: Drawn, ended: Ended, phase: Phase) -> bool:
    """Whether the plan should tell of it: not when all was over but the writing, nor of the death
    of a solver that had nothing to do yet."""
    searched = phase in SEARCHING if drawn.way == "kill" else phase != "finished"
    return searched and not _late(drawn, ended)


def _early(drawn: Drawn, ended: Ended) -> bool:
    """Whether it came before there was an answer, and the run has said so."""
    if ended.phase not in ("reading", "fast") or drawn.way not in ("SIGINT", "SIGTERM"):
        return False
    return ended.complaints == (str(InterruptedEarlyError(signal.Signals[drawn.way])),)


def _late(drawn: Drawn, ended: Ended) -> bool:
    """Whether it came when the time was nearly up."""
    return (ended.at_seconds or 0.0) > drawn.limit_seconds - _LAST_SECONDS


def run_trials(numbers: Sequence[int], parallel: int, tell: Callable[[Trial], None]) -> None:
    """Run trials, some at the same time, and tell each in turn.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, when those under way have ended.
    """
    pool = ThreadPoolExecutor(parallel)
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:  # as in background jobs: what is ignored here would be there, too
        signal.signal(signal.SIGINT, lambda *_: None)
    try:
        for trial in pool.map(lambda number: run_trial(draw(number)), numbers):
            tell(trial)
    finally:
        pool.shutdown(cancel_futures=True)
        signal.signal(signal.SIGINT, before)


def trial_blocks(trials: Sequence[Trial]) -> list[Block]:
    """Lay out how many runs were interrupted how and where, and what was wrong."""
    lines = []
    for way in WAYS:
        part = [trial for trial in trials if trial.way == way]
        counts = [str(sum(trial.phase == phase for trial in part)) for phase in PHASES]
        faulty = str(sum(bool(trial.faults) for trial in part))
        times = [trial.after_seconds for trial in part if trial.at_seconds is not None]
        slowest = f"{max(times):.2f}" if times else "-"
        lines.append((way, str(len(part)), *counts, slowest, faulty))
    columns = ("WAY", "TRIALS", *(phase.upper() for phase in PHASES), "SLOWEST END", "FAULTS")
    title = (
        "Interrupted while the input was read, the fast path worked, the solver ran and had found "
        "nothing better yet, after it had; FINISHED: nothing was left to interrupt"
    )
    running = sum(trial.phase in SEARCHING for trial in trials)
    before = sum(trial.phase == "search" for trial in trials)
    wrong = sum(bool(trial.faults) for trial in trials)
    text = (
        f"{len(trials)} trials, {running} while the solver ran, {before} of them before it had "
        f"found anything; {wrong} with faults."
    )
    return [
        Paragraph(text, "bad" if wrong else "good"),
        Table(title, columns, tuple(lines), frozenset(range(1, len(columns)))),
    ]
