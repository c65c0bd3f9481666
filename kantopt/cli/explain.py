"""``kantopt explain``."""

from dataclasses import replace
from typing import Annotated

import typer

from kantopt.cli import limits as lim
from kantopt.cli import options as opt
from kantopt.cli.named import files_and_job, in_namespace
from kantopt.cli.shown import asked_for, size_read


def explain(
    files: opt.FilesAndJob,
    job: Annotated[
        str | None,
        typer.Option(
            "--job",
            "-j",
            metavar="NAMESPACE/NAME",
            help="The job to explain. Default: the last argument that is no file.",
            show_default=False,
        ),
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
    time_limit: lim.TimeLimit = "5s",  # type: ignore[assignment]
    memory_limit: lim.MemoryLimit = None,
    namespace: opt.Namespace = None,
    gated: opt.Gated = False,
    pending: opt.Pending = None,
    topology: opt.Levels = None,
    disturb: opt.Disturb = None,
    assume: opt.Assume = None,
    output: Annotated[
        opt.Form | None, opt.output_as("wide: every node by name; name: the verdict in one word.")
    ] = None,
    output_file: Annotated[str | None, opt.document_to("the explanation")] = None,
    log_format: opt.LogFormat = "text",
    color: opt.ColourOption = "auto",
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
) -> int:
    """Explain why a job is pending, or where it is, and what helps.

    Arguments are files in any order and the job, `kantopt explain cluster.json jobs.yaml
    team-a/llm-8`. The verdict rests on plans that were verified or on proofs; what was not decided
    in the time is said to be open. Exit codes: 0 answer written, 64 usage, 65 bad data, 66 missing
    input, 73 cannot create, 74 write failed, 129, 130 and 143 interrupted (what is known is
    written).
    """
    from kantopt.cli.progress import Progress
    from kantopt.cli.signals import stop_on_signals

    files, name = files_and_job(files, job, "explain")
    name = None if name is None else in_namespace(name, namespace)
    shown = asked_for(output, output_file, color, quiet=quiet, log_form=log_format, inputs=files)
    deadline = lim.deadline_of(
        time_limit, memory_limit, deterministic=False, quiet=quiet, log_form=log_format
    )
    stop = deadline.stop
    progress = Progress(verbose=verbose, quiet=quiet, limit_seconds=time_limit, form=log_format)
    with stop_on_signals(deadline), progress:
        from kantopt.planning.explain.process import explain_apart
        from kantopt.planning.explain.run import find_job
        from kantopt.planning.pictures import picture_of
        from kantopt.planning.question import chosen_model, read_question
        from kantopt.planning.wanted import check_namespace, model_pending

        how = opt.import_as(gated, pending, topology, disturb=disturb, assume=assume, model=model)
        question = read_question(files, how)
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
    return 0 if stop.signal is None else 128 + stop.signal
