"""``kantopt simulate``."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from kantopt.cli import completion
from kantopt.cli import options as opt
from kantopt.cli.groups import with_groups
from kantopt.cli.output import check_distinct, check_output_file, complain
from kantopt.cli.shown import AnswerOptions
from kantopt.cli.sweep import SweepOptions, run_sweep, write_sweep
from kantopt.errors import InterruptedEarlyError, UsageError

if TYPE_CHECKING:
    from kantopt.schema.answers.simulation import Simulation
    from kantopt.simulate.history import History

_FAILED = 70
"""Exit code if a cell of a sweep failed."""


@with_groups
def simulate(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="SNAPSHOT TRACE...",
            help="Documents in any order: a snapshot or `kubectl get -o json` output, traces, job "
            "lists of what waits at the start, a model. - is standard input.",
            show_default=False,
        ),
    ],
    *,
    answer: AnswerOptions,
    policy: Annotated[
        list[str],
        typer.Option(
            metavar="NAME|FILE",
            autocompletion=completion.policies,
            help="A shipped policy (see `kantopt policies`) or file. Repeatable: others are "
            "compared with the first.",
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME|FILE",
            help="Model whose rules hold: a shipped one or a file.",
            show_default="the one among the files, or mixed",
        ),
    ] = None,
    warm_up: Annotated[
        float | None,
        typer.Option(
            metavar="DURATION",
            parser=opt.parse_trace_time,
            help="Measure only what comes after that time of the trace: 1d.",
        ),
    ] = None,
    until: Annotated[
        float | None,
        typer.Option(
            metavar="DURATION",
            parser=opt.parse_trace_time,
            help="Simulate up to that time of the trace: 7d.",
            show_default="until nothing more happens",
        ),
    ] = None,
    verify_every: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Judge every N-th state.",
            show_default="1 up to 64 nodes, else 100",
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(metavar="N", min=1, help="Processes; the answer is the same.")
    ] = 1,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the planner.")] = 0,
    tables: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Write jobs, stays, samples and metrics there as CSV tables."
        ),
    ] = None,
    pictures: Annotated[
        str | None, typer.Option(metavar="DIR", help="Write pictures (SVG) there.")
    ] = None,
    grid: SweepOptions,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Save there now and then what has been simulated."),
    ] = None,
    checkpoint_every: Annotated[
        float,
        typer.Option(metavar="DURATION", parser=opt.parse_duration, help="How often that is done."),
    ] = "1m",  # type: ignore[assignment]
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with what --checkpoint FILE holds; the answer is the same as of one that "
            "was not broken off. Without the file: begin.",
        ),
    ] = False,
    reading: opt.Reading,
    assume: opt.Assume = None,
    output: Annotated[
        opt.Form | None, opt.output_as("wide: with intervals and formulas; name: a line per value.")
    ] = None,
    output_file: Annotated[str | None, opt.document_to("the simulation")] = None,
) -> int:
    """Run a cluster over time, and compare policies on traces.

    Jobs of the traces come, wait, are placed under the same rules as plans, and end; states are
    verified on the way. The same input gives the same answer. Exit codes: 0 simulated, 64 usage,
    65 bad data, 66 missing input, 69 no such Ray cluster, 70 a cell of a sweep failed (the others
    are written), 73 cannot create, 74 write failed, 129, 130 and 143 interrupted (what was
    simulated by then is written).
    """
    from kantopt.cli.signals import exit_code, stop_on_signals
    from kantopt.clock import Deadline

    shown = answer.shown(output, output_file, files)
    check_output_file(checkpoint, files)
    check_distinct((shown.path, checkpoint))
    if resume and checkpoint is None:
        raise UsageError("--resume: found no file to go on from, expected --checkpoint FILE")
    for folder in (tables, pictures):
        _check_folder(folder)
    axes = grid.axes({"--pictures": pictures, "--checkpoint": checkpoint})
    deadline = Deadline(None)
    with stop_on_signals(deadline), answer.progress() as progress:
        progress.reach("reading")
        from kantopt.schema.writing import make_folder
        from kantopt.simulate.asked import read_asked
        from kantopt.simulate.checkpoints import Checkpoints
        from kantopt.simulate.figures import figures_of
        from kantopt.simulate.judged import judged_every
        from kantopt.simulate.runs import How, run_names
        from kantopt.simulate.runs import simulate as simulated

        asked = read_asked(files, policy, model, reading.given(model=model, assume=assume))
        deadline.stop.begin()
        for folder in filter(None, (tables, pictures)):
            make_folder(folder)  # not after all the work
        wanted = How(_ms(until), verify_every, seed)
        if axes is not None:
            cells = run_sweep(
                asked, wanted, axes, _ms(warm_up) or 0, workers, deadline.stop, progress
            )
            shown = shown.of(asked.question)
            write_sweep(cells, shown, tables)
            shown.warn(asked.question.notes, asked.question.notes)
            return exit_code(deadline.stop, _FAILED if cells.failed else 0)
        names = run_names(asked)

        def tell(run: int, done: int, jobs: int) -> None:
            number = f" ({run + 1} of {len(names)})" if len(names) > 1 else ""
            progress.reach(f"{names[run]}{number}: {done} of {jobs} jobs done")

        progress.reach("simulating")
        kept = Checkpoints(checkpoint, asked, wanted, checkpoint_every)
        if resume and not kept.read() and not answer.quiet:
            complain("note", [f"{checkpoint}: not there yet; begun anew"], answer.log_format)
        histories = simulated(
            asked, wanted, workers=workers, stop=deadline.stop, tell=tell, kept=kept
        )
        if deadline.stop.signal is not None:
            histories = [each for each in histories if each.horizon > (_ms(warm_up) or 0)]
            if not histories:
                raise InterruptedEarlyError(deadline.stop.signal)
        progress.reach("measuring")
        first = asked.policies[0].queueing
        simulation = figures_of(
            histories,
            warm_up=_ms(warm_up) or 0,
            share_by=first.share_by,
            weights=first.weights,
            name=asked.question.snapshot.metadata.name,
        )
    every = verify_every or judged_every(len(asked.question.snapshot.nodes))
    notes = []
    if every > 1:
        notes.append(
            f"one of {every} states in which something came was judged, {simulation.judged} in all"
        )
    if deadline.stop.signal is not None:
        notes.append(_interrupted(histories, len(names)))
    simulation = simulation.model_copy(update={"notes": (*simulation.notes, *notes)})
    shown = shown.of(asked.question)
    shown.answer(simulation)
    _write_folders(simulation, histories, tables, pictures)
    shown.warn(asked.question.notes, asked.question.notes)
    return exit_code(deadline.stop, 0)


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


def _interrupted(histories: "list[History]", runs: int) -> str:
    ends = ", ".join(
        f"{each.policy} on {each.trace} {each.horizon // 1000} s" for each in histories
    )
    return f"interrupted; simulated {len(histories)} of {runs} runs, so far: {ends}"


def _check_folder(folder: str | None) -> None:
    """Fail early where a folder cannot be made."""
    if folder is not None and os.path.exists(folder) and not os.path.isdir(folder):
        raise UsageError(f"{folder}: found a file, expected a folder to write to")


def _write_folders(
    simulation: "Simulation", histories: "list[History]", tables: str | None, pictures: str | None
) -> None:
    if tables is not None:
        from kantopt.simulate.tables import write_tables

        write_tables(tables, histories, simulation)
    if pictures is not None:
        from kantopt.report.simulation_pictures import simulation_pictures
        from kantopt.schema.writing import write_atomic

        for name, text in simulation_pictures(simulation).items():
            write_atomic(os.path.join(pictures, name), text.encode())
