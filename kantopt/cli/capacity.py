"""``kantopt capacity``."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from kantopt.cli import limits as lim
from kantopt.cli import options as opt
from kantopt.cli.groups import with_groups
from kantopt.cli.named import files_and_job
from kantopt.cli.shown import AnswerOptions, size_read
from kantopt.errors import UsageError

if TYPE_CHECKING:
    from kantopt.planning.capacity.asked import Short


@dataclass(frozen=True, slots=True)
class InShort:
    """Options that give the job in short."""

    gpus: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="In short: GPUs of each pod.")
    ] = None
    cpu: Annotated[
        str | None, typer.Option(metavar="AMOUNT", help="In short: CPU of each pod, 12 or 500m.")
    ] = None
    memory: Annotated[
        str | None, typer.Option(metavar="AMOUNT", help="In short: memory of each pod, 120Gi.")
    ] = None
    request: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=AMOUNT", help="In short: another resource of each pod. Repeatable."
        ),
    ] = None
    pods: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=100_000, help="In short: pods of the gang.", show_default="1"
        ),
    ] = None
    required: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="In short: level of which its pods share a domain."),
    ] = None
    queue: Annotated[
        str | None, typer.Option(metavar="NAME", help="In short: queue whose quota it uses.")
    ] = None

    def job(self) -> "Short | None":
        """Return the job that is given in short, if one is."""
        from kantopt.planning.capacity.asked import Short
        from kantopt.schema.hints import quote
        from kantopt.schema.quantity import parse_quantity, quantity_meant

        amounts = {"--cpu": ("cpu", self.cpu), "--memory": ("memory", self.memory)}
        given = [
            (option, name, text) for option, (name, text) in amounts.items() if text is not None
        ]
        for item in self.request or ():
            name, separator, text = item.partition("=")
            if not (name and separator):
                expected = "NAME=AMOUNT such as nvidia.com/gpu=8"
                raise UsageError(f"--request: found {quote(item)}, expected {expected}")
            given.append(("--request", name, text))
        for option, _, text in given:
            try:
                parse_quantity(text)
            except ValueError:
                meant = quantity_meant(text)
                expected = f"an amount such as 12, 500m or 120Gi{f' ({meant})' if meant else ''}"
                raise UsageError(f"{option}: found {quote(text)}, expected {expected}") from None
        if self.gpus is None and not given:
            for option, value in (
                ("--pods", self.pods),
                ("--required", self.required),
                ("--queue", self.queue),
            ):
                if value is not None:
                    raise UsageError(
                        f"{option}: found no resource with it, expected what each pod asks for: "
                        "--gpus, --cpu, --memory or --request"
                    )
            return None
        requests = {name: text for _, name, text in given}
        return Short(self.pods or 1, self.gpus, requests, self.required, self.queue or "")


@with_groups
def capacity(
    files: opt.FilesAndJob,
    *,
    search: lim.SearchOptions,
    reading: opt.PlanReading,
    answer: AnswerOptions,
    job: Annotated[
        str | None,
        opt.job_as(
            "The job to count. Default: the last argument that is no file, else the only pending "
            "job."
        ),
    ] = None,
    in_short: InShort,
    max_moves: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            min=0,
            help="Pods moved at most in the second answer.",
            show_default="the model's, else no limit",
        ),
    ] = None,
    model: opt.ModelName = None,
    engine: lim.Engine = "auto",
    namespace: opt.Namespace = None,
    output: Annotated[
        opt.Form | None,
        opt.output_as("wide: every domain with free slots; name: a line per answer."),
    ] = None,
    output_file: Annotated[str | None, opt.document_to("the answer")] = None,
) -> int:
    """Count how many more of a job fit: now, after moves.

    Arguments are files in any order and the job, `kantopt capacity cluster.json team-a/llm-8`; or
    files alone and the job in short, `--gpus 8 --pods 4 --required rack`. Nobody is evicted, jobs
    that wait are left aside. Each number is that of a verified plan, and stands beside a bound
    that no plan exceeds. Exit codes: 0 answer written, 4 none fits and none ever will on this
    cluster without evictions, 64 usage, 65 bad data, 66 missing input, 73 cannot create, 74 write
    failed, 129, 130 and 143 interrupted (what is known is written).
    """
    from kantopt.cli.signals import exit_code, stop_on_signals

    short = in_short.job()
    named = None
    if short is None:
        files, named = files_and_job(files, job, namespace, "capacity")
    elif job is not None:
        raise UsageError("--job: found a job in short as well, expected one of them")
    shown = answer.shown(output, output_file, files)
    deadline = search.deadline(answer)
    with stop_on_signals(deadline), answer.progress(search.time_limit) as progress:
        from kantopt.planning.capacity.asked import job_in_short, job_of
        from kantopt.planning.capacity.run import capacity as count
        from kantopt.planning.pictures import picture_of
        from kantopt.planning.question import chosen_model, read_question
        from kantopt.planning.wanted import check_namespace

        progress.reach("reading")
        question = read_question(files, reading.under(model))
        check_namespace(question, namespace)
        chosen = chosen_model(question, model)
        wanted = job_of(question, named, chosen) if short is None else job_in_short(question, short)
        moves = chosen.limits.moves if max_moves is None else max_moves
        settings = search.settings(engine=engine)
        progress.reach("planning")
        found = count(question, chosen, wanted, moves, settings, deadline, progress.tell)
    shown.of(question).answer(
        found,
        found.warnings,
        question.notes,
        lambda: picture_of(question, chosen),
        size=size_read(question),
    )
    return exit_code(deadline.stop, 4 if found.rooms[-1].bound == 0 else 0)
