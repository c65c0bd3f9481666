"""``kantopt explain``."""

from dataclasses import replace
from typing import Annotated

import typer

from kantopt.cli import limits as lim
from kantopt.cli import options as opt
from kantopt.cli.groups import with_groups
from kantopt.cli.named import files_and_job
from kantopt.cli.shown import AnswerOptions, size_read

_LIMITS = lim.Limits("5s")  # type: ignore[arg-type]


@with_groups
def explain(
    files: opt.FilesAndJob,
    reading: opt.PlanReading,
    answer: AnswerOptions,
    limits: lim.Limits = _LIMITS,
    job: Annotated[
        str | None,
        opt.job_as("The job to explain. Default: the last argument that is no file."),
    ] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            "--what-if",
            "-w",
            metavar="CHANGE",
            help="A change to try out: add-nodes=NODE:2, drain=NODE, cordon=NODE, uncordon=NODE, "
            "remove=JOB, priority=JOB:VALUE, set=JOB[:PODSET]:FIELD=VALUE (a resource, "
            "priority, count, minCount, required, tolerate, nodeSelector, preemptible, movable), "
            "quota=QUEUE:RESOURCE=VALUE, "
            "limit=evictions|moves:COUNT, or @FILE, merged by names. Repeatable; or several in "
            "one, with spaces between them.",
            show_default=False,
        ),
    ] = None,
    model: opt.ModelName = None,
    namespace: opt.Namespace = None,
    pending: opt.Pending = None,
    output: Annotated[
        opt.Form | None, opt.output_as("wide: every node by name; name: the verdict in one word.")
    ] = None,
    output_file: Annotated[str | None, opt.document_to("the explanation")] = None,
) -> int:
    """Explain why a job is pending, or where it is, and what helps.

    Arguments are files in any order and the job, `kantopt explain cluster.json jobs.yaml
    team-a/llm-8`. The verdict rests on plans that were verified or on proofs; what was not decided
    in the time is said to be open. Exit codes: 0 answer written, 64 usage, 65 bad data, 66 missing
    input, 73 cannot create, 74 write failed, 129, 130 and 143 interrupted (what is known is
    written).
    """
    from kantopt.cli.signals import exit_code, stop_on_signals

    files, name = files_and_job(files, job, namespace, "explain")
    shown = answer.shown(output, output_file, files)
    deadline = limits.deadline(answer)
    with stop_on_signals(deadline), answer.progress(limits.time_limit) as progress:
        from kantopt.planning.explain.process import explain_apart
        from kantopt.planning.pictures import picture_of
        from kantopt.planning.question import chosen_model, read_question
        from kantopt.planning.wanted import check_namespace, find_job, model_pending

        question = read_question(files, reading.under(model, pending))
        check_namespace(question, namespace)
        name = name or find_job(question, None)
        progress.reach("explaining")
        chosen = model_pending(question, chosen_model(question, model), pending or ())
        told = explain_apart(question, chosen, name, deadline, what_if or ())
    as_it_stands = replace(question, plan=None)
    shown.of(question).answer(
        told,
        told.notes,
        question.notes,
        lambda: picture_of(as_it_stands, chosen, told.plan),
        seek=told.job,
        size=size_read(question),
    )
    return exit_code(deadline.stop, 0)
