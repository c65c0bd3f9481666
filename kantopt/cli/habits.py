"""What runs need that nobody watches: one at a time, on fresh data, leaving figures behind."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from kantopt.cli.options import parse_duration
from kantopt.cli.output import (
    LogForm,
    check_distinct,
    check_output_file,
    complain,
    dumped,
    emit,
    format_of,
    tell_news,
)
from kantopt.cli.shown import Shown
from kantopt.clock import Stop, utc_now
from kantopt.errors import UsageError

if TYPE_CHECKING:
    from kantopt.planning.question import Question
    from kantopt.report.blocks import Block
    from kantopt.schema.answers.plan import Plan
    from kantopt.schema.model import Model


@dataclass(frozen=True, slots=True)
class Habits:
    """What was asked for by the options of scheduled runs."""

    lock_file: Annotated[
        str | None,
        typer.Option(
            "--lock-file",
            metavar="FILE",
            help="Hold this lock, as flock(1) does; exit 75 if another run holds it.",
        ),
    ] = None
    max_snapshot_age: Annotated[
        float | None,
        typer.Option(
            "--max-snapshot-age",
            metavar="DURATION",
            parser=parse_duration,
            help="Refuse a snapshot taken longer ago (exit 65): 15m.",
        ),
    ] = None
    """Seconds."""
    last_plan: Annotated[
        str | None,
        typer.Option(
            "--last-plan",
            metavar="FILE",
            help="The plan of the run before, replaced by this run's. Says what has changed; the "
            "same question, if its plan is proved, is not solved again, and a search begins with "
            "what still stands.",
        ),
    ] = None
    metrics_file: Annotated[
        str | None,
        typer.Option(
            "--metrics-file",
            metavar="FILE",
            help="Gauges of the run and its plan as Prometheus text, written whole or not at all.",
        ),
    ] = None

    def refuse_plan_files(self) -> None:
        """Refuse the files that hold a plan, or figures of one, for prices, which are none.

        Raises
        ------
        UsageError
            If one of them was asked for.
        """
        for name, path in (("--last-plan", self.last_plan), ("--metrics-file", self.metrics_file)):
            if path is not None:
                expected = "none: what it writes is no plan"
                raise UsageError(f"--clear: found {name} beside it, expected {expected}")

    @contextlib.contextmanager
    def run(self, inputs: Sequence[str], shown: Shown) -> Iterator["Run"]:
        """Hold the lock while a run goes on; if the run fails, the metrics file says so.

        Parameters
        ----------
        inputs
            Files that the run reads; neither lock nor metrics may take their place.
        shown
            Where the answer goes; nor that of it, or of each other.

        Raises
        ------
        LockHeldError
            If another run holds the lock; then this one leaves no trace.
        CannotCreateError
            If one of the files cannot be written.
        UsageError
            If two of them are one.
        """
        for path in (self.last_plan, self.metrics_file, self.lock_file):
            if path == "-":
                raise UsageError("-: a file is needed here, for the next run to find")
        for answer in (shown.path, self.last_plan):  # both hold the plan, and may be one
            check_distinct((answer, self.metrics_file, self.lock_file))
        check_output_file(self.last_plan)
        check_output_file(self.metrics_file, inputs)
        if self.lock_file is not None:
            check_output_file(self.lock_file, inputs)
        now = utc_now()
        with contextlib.ExitStack() as ending:
            if self.lock_file is not None:
                from kantopt.cli.lock import lock_held

                ending.enter_context(lock_held(self.lock_file, now))
            run = Run(self, now, shown.quiet, shown.log_form)
            try:
                yield run
            except BaseException as error:
                run.failed(error)
                raise


@dataclass(slots=True)
class Run:
    """One run that holds the lock."""

    habits: Habits
    now: datetime
    quiet: bool
    log_form: LogForm
    question_digest: str = ""
    reused: bool = False
    last: "Plan | None" = None
    """The plan of the run before."""
    again: bool = False
    """Whether that plan answers the question of this run, and may not be the best."""
    phases: dict[str, float] = field(default_factory=dict)
    """Seconds that each part of the work took."""

    def check_age(self, question: "Question") -> None:
        """Check that the snapshot is as fresh as was asked for.

        Raises
        ------
        BadDataError
            If it is too old.
        """
        if self.habits.max_snapshot_age is not None:
            from kantopt.cli.age import check_snapshot_age

            check_snapshot_age(question, self.habits.max_snapshot_age, self.now)

    def unchanged(
        self, question: "Question", model: "Model", options: Mapping[str, object], stop: Stop
    ) -> "Plan | None":
        """Return the plan of the run before if it still answers; ``None``: plan.

        Parameters
        ----------
        question, model
            What is asked.
        options
            All else that has a say in the plan, by name.
        stop
            Told if there is an answer.

        Raises
        ------
        BadDataError
            If the file of the last plan holds something else.
        """
        if self.habits.last_plan is None:
            return None
        from kantopt.planning.repeated import question_digest, read_last_plan, refreshed, still_best

        found = read_last_plan(self.habits.last_plan)
        if found.note and not self.quiet:
            complain("warning", [found.note], self.log_form)
        self.last = found.plan
        self.question_digest = question_digest(question, model, options)
        if found.plan is None or found.plan.metadata.question_digest != self.question_digest:
            return None
        if not still_best(found.plan, question):
            self.again = found.plan.solver.status != "UNKNOWN"
            return None
        self.reused = True
        last = refreshed(found.plan, question)
        stop.begin()
        return last

    def stamped(self, plan: "Plan", question: "Question", *, whole: bool) -> "Plan":
        """Return the plan as it is kept; ``whole``: the run was not ended before its time."""
        answers = whole and self.question_digest and plan.solver.status != "UNKNOWN"
        if not answers and self.last is None:
            return plan
        from kantopt.planning.repeated import stamped

        since = None
        if self.last is not None:
            from kantopt.planning.later.still_there import StillThere
            from kantopt.report.plan_difference import plan_difference

            since = plan_difference(self.last, plan, StillThere(question, self.last).done)
        if not answers:
            return stamped(plan, "", since=since)
        before = self.last.metadata.searches if self.again and self.last is not None else 0
        return stamped(plan, self.question_digest, before + 1, since)

    def blocks(self) -> "list[Block]":
        """Lay out what a table says beside the plan: that it is the one before, given again."""
        if self.last is None or not self.reused:
            return []
        from kantopt.report.plan_difference import unchanged_blocks

        return unchanged_blocks(self.last)

    def tell(self, plan: "Plan", *, in_table: bool) -> None:
        """Say on stderr how the plan differs from the one before, unless a table has said so."""
        if self.last is None:
            return
        from kantopt.report.plan_difference import difference_line
        from kantopt.schema.answers.since import SinceLastPlan

        nothing = SinceLastPlan(last_plan=self.last.metadata.plan_id)
        since = plan.since_last_plan or nothing
        if self.log_form == "json":
            steps = since.model_dump(include={"new", "gone", "done", "changed"})
            counts = {name: len(lines) for name, lines in steps.items()}
            tell_news("difference", {"reused": self.reused, **counts, "steps": steps})
        elif not in_table:
            line = "the last plan still stands" if self.reused else difference_line(since)
            complain("note", [line])

    def finish(self, plan: "Plan", question: "Question", exit_code: int) -> None:
        """Keep the plan and write the figures, once the answer has been written.

        Raises
        ------
        CannotCreateError, WriteError
            If that cannot be done.
        """
        habits = self.habits
        # A run that had no time to look leaves the plan of one that had.
        looked = plan.solver.status != "UNKNOWN" or self.last is None
        if habits.last_plan is not None and looked and not (self.reused and plan == self.last):
            emit(dumped(plan, format_of(None, habits.last_plan, "json")), habits.last_plan)
        if habits.metrics_file is not None:
            from kantopt.cli.gauges import Work, write_gauges

            work = Work(self.now, self.phases, self.reused, exit_code)
            write_gauges(habits.metrics_file, work, plan, question)
        from kantopt.schema.writing import sweep

        for path in (habits.last_plan, habits.metrics_file):
            if path is not None:
                sweep(path)

    def failed(self, error: BaseException) -> None:
        """Say in the metrics file that the run failed; what it says of the last plan stays."""
        if self.habits.metrics_file is not None:
            from kantopt.cli.gauges import write_failure

            write_failure(self.habits.metrics_file, self.now, error)
