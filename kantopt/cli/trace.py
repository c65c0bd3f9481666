"""``kantopt trace``."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kantopt.cli import options as opt
from kantopt.cli.output import all_dumped, check_output_file, complain, emit, format_of
from kantopt.errors import UsageError

if TYPE_CHECKING:
    from kantopt.schema.snapshot import ClusterSnapshot

Form = Literal["yaml", "json"]
Profile = Literal["kalos", "seren"]
Arrivals = Literal["poisson", "diurnal"]

_LOAD, _SECONDS = 0.9, 7 * 86_400.0


def _weighted(option: str, text: str) -> tuple[int, float]:
    value, _, weight = text.partition(":")
    try:
        found = int(value), float(weight or 1)
    except ValueError:
        found = 0, 0.0
    if not 0 < found[1] < float("inf"):
        raise UsageError(
            f"{option}: found {text!r}, expected NUMBER or NUMBER:WEIGHT such as 8:0.5"
        )
    return found


def trace(
    snapshot: Annotated[
        str | None,
        typer.Argument(
            metavar="[SNAPSHOT]",
            help="Cluster to draw a load for: a snapshot or kubectl get output.",
            show_default=False,
        ),
    ] = None,
    gpus: Annotated[
        int | None, typer.Option(min=1, max=10**7, help="GPUs, instead of a cluster.")
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(
            min=1, max=10**6, help="Nodes of a cluster that is made, and written before the trace."
        ),
    ] = None,
    gpus_per_node: Annotated[
        int, typer.Option(min=1, max=1024, help="GPUs of a node, unless a SNAPSHOT says.")
    ] = 8,
    nodes_per_leaf: Annotated[int, typer.Option(min=1, help="With --nodes.")] = 32,
    leaves_per_block: Annotated[int, typer.Option(min=1, help="With --nodes.")] = 16,
    like: Annotated[Profile, typer.Option(help="Whose sizes and run times.")] = "kalos",
    load: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Offered load: GPUs x duration of all jobs / (GPUs x time). Of this, --for and "
            "--jobs two are given and the third follows. [default: 0.9]",
            show_default=False,
        ),
    ] = None,
    span: Annotated[
        float | None,
        typer.Option(
            "--for",
            metavar="DURATION",
            parser=opt.parse_trace_time,
            help="Time in which jobs come, such as 7d. [default: 7d, without --jobs]",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=0, max=10**6, help="Number of jobs.")] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GPUS:WEIGHT", help="Sizes of jobs, instead of published ones. Repeatable."
        ),
    ] = None,
    inference: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the GPU time that services are to have.")
    ] = 0.0,
    users: Annotated[int, typer.Option(min=0, max=10**6, help="Number of users.")] = 0,
    priority: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VALUE:WEIGHT",
            help="Priorities of jobs; services have the highest. Repeatable.",
        ),
    ] = None,
    estimate_factor: Annotated[
        float,
        typer.Option(
            min=0, max=1000, help="Estimates from the run time to so many times more (f-model)."
        ),
    ] = 0.0,
    arrivals: Annotated[
        Arrivals, typer.Option(help="diurnal: most in the afternoon, from midnight on.")
    ] = "poisson",
    mtbf: Annotated[
        float | None,
        typer.Option(
            metavar="DURATION", parser=opt.parse_trace_time, help="Mean time that a node is up."
        ),
    ] = None,
    mttr: Annotated[
        float | None,
        typer.Option(
            metavar="DURATION", parser=opt.parse_trace_time, help="Mean time until it is repaired."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same trace.")] = 0,
    output: Annotated[Form | None, opt.output_as(default="yaml")] = None,
    output_file: opt.OutputFile = None,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
) -> int:
    """Draw jobs that come over time, after published sizes.

    For a SNAPSHOT, for --gpus, or for --nodes, which writes the empty cluster as well. What was
    drawn from what, and the offered load that it came to, is said on stderr and in the notes of
    the trace.
    """
    from kantopt.cli.progress import Progress

    check_output_file(output_file, [snapshot])
    if [snapshot, gpus, nodes].count(None) != 2:
        raise UsageError("trace: found none or several, expected one of SNAPSHOT, --gpus, --nodes")
    if None not in (load, span, jobs):
        raise UsageError("--load, --for, --jobs: found all three, expected at most two of them")
    if load is not None and not 0 < load <= 100:
        raise UsageError(f"--load: found {load:g}, expected more than 0 and at most 100")
    if (mtbf is None) != (mttr is None):
        raise UsageError("--mtbf, --mttr: found one of them, expected both or none")
    if mtbf is not None and gpus is not None:
        raise UsageError("--mtbf: found --gpus, expected nodes that can fail: SNAPSHOT or --nodes")
    sizes = [_weighted("--size", each) for each in size or ()]
    priorities = [_weighted("--priority", each) for each in priority or ()]
    wrong = [gpus for gpus, _ in sizes if not 1 <= gpus <= 10**6]
    if wrong:
        raise UsageError(f"--size: found {wrong[0]} GPUs, expected at least one, at most 1000000")
    if load is None and (span is None or jobs is None):
        load = _LOAD
    if span is None and jobs is None:
        span = _SECONDS
    form = format_of(output, output_file, "yaml")
    with Progress(verbose=verbose, quiet=quiet) as progress:
        from kantopt.simulate.workload.acme import PROFILES
        from kantopt.simulate.workload.cluster import Gpus, empty_cluster, gpus_of
        from kantopt.simulate.workload.generate import Load, draw_trace
        from kantopt.simulate.workload.sizes import Sizes

        cluster: ClusterSnapshot | None = None
        if snapshot is not None:
            from kantopt.planning.question import read_question

            cluster = read_question([snapshot]).snapshot
        elif nodes is not None:
            cluster = empty_cluster(nodes, gpus_per_node, nodes_per_leaf, leaves_per_block)
        have = Gpus(gpus or 0, gpus_per_node) if cluster is None else gpus_of(cluster)
        progress.reach("drawing")
        asked = Load(
            profile=PROFILES[like],
            load=load,
            seconds=None if span is None else max(1, round(span)),
            jobs=jobs,
            sizes=Sizes(*zip(*sizes, strict=True)) if sizes else None,
            inference=inference,
            users=users,
            priorities=tuple(priorities),
            estimate_factor=estimate_factor,
            arrivals=arrivals,
            mtbf=mtbf,
            mttr=mttr or 0.0,
        )
        names = [node.name for node in cluster.nodes] if cluster is not None else []
        drawn = draw_trace(asked, have, names, f"{like}-{seed}", seed)
        progress.reach("writing")
        documents = [drawn] if nodes is None or cluster is None else [cluster, drawn]
        text = all_dumped(documents, form)
    emit(text, output_file)
    if not quiet:
        complain("note", drawn.notes)
    return 0
