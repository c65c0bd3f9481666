"""``kantopt render``."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kantopt.cli import options as opt
from kantopt.cli.groups import with_groups
from kantopt.cli.output import check_output_file, complain, emit
from kantopt.cli.shown import domains_read
from kantopt.errors import UsageError
from kantopt.render.targets import TARGETS, Asked, KueueApi, TargetName
from kantopt.schema.hints import one_of

if TYPE_CHECKING:
    from kantopt.planning.question import Import
    from kantopt.schema.answers.plan import Plan


@with_groups
def render(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="A plan; for svg and html a snapshot, with or without one; - is standard input.",
            show_default=False,
        ),
    ],
    to: Annotated[
        Literal[TargetName, "kai", "svg", "html"],
        typer.Option(
            "--to",
            help="Who is to follow the plan, or svg: a picture, html: a page.",
            show_default=False,
        ),
    ],
    shell: Annotated[
        bool, typer.Option("--shell", help="kubectl: a shell script, not one JSON request a line.")
    ] = False,
    gate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="kubectl: scheduling gate to remove from pods that are bound, beside our own, "
            "kantopt/hold. Repeatable.",
        ),
    ] = None,
    wave: Annotated[
        int | None,
        typer.Option(metavar="N", help="YAML: only this wave; default: all, one after the other."),
    ] = None,
    evict_anyway: Annotated[
        bool,
        typer.Option(
            "--evict-anyway",
            help="Evict also for pods that the target cannot bind; kubectl, eviction-requests: "
            "restart pods as well, which start again where their scheduler likes.",
        ),
    ] = False,
    admission: Annotated[
        bool,
        typer.Option(
            "--admission",
            help="kueue: write admissions, past its quotas; default: node selectors.",
        ),
    ] = False,
    flavor: Annotated[
        str | None, typer.Option(metavar="NAME", help="kueue: flavor that is admitted to.")
    ] = None,
    kueue_api: Annotated[KueueApi, typer.Option(help="kueue: version of its objects.")] = "v1beta2",
    *,
    reading: opt.Reading,
    pending: opt.Pending = None,
    output_file: opt.OutputFile = None,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
) -> int:
    """Turn a plan into what others follow, a picture or a page.

    kubectl: evictions with uid and resourceVersion, patches of gated pods with tests that fail
    if the plan is stale; with --shell a script that checks, waits, and says what it cannot do
    (docs/with-kubernetes.md). eviction-requests, koordinator, kueue, volcano: YAML documents,
    wave by wave, with comments on what they enforce and what is left to you. slurm: a shell
    script of scontrol calls that checks before it acts, waits in between, and goes on where it
    was ended. svg: the nodes by topology domain, what runs on them, what leaves and what
    arrives, before and after the plan. kai: an error that says what to use instead. html: one
    file to open in a browser, with a map from wave to wave, objectives and bounds, actions, and
    who waits why. Changes nothing itself.
    """
    from kantopt.cli.progress import Progress

    if to == "kai":
        raise UsageError(_NOT_FOR_KAI)
    check_output_file(output_file, files)
    asked = Asked(shell, tuple(gate or ()), wave, evict_anyway, admission, flavor, kueue_api)
    taken = frozenset() if to == "svg" or to == "html" else TARGETS[to].takes
    for name in sorted(asked.given() - taken):
        fitting = [target for target, what in TARGETS.items() if name in what.takes]
        raise UsageError(f"--{name.replace('_', '-')}: found --to {to}, expected {one_of(fitting)}")
    with Progress(verbose=verbose, quiet=quiet):
        if to == "svg" or to == "html":
            text, notes = _drawn(files, reading.given(pending), page=to == "html")
        else:
            rendered = TARGETS[to].render(_fitting(_plan(files), to), asked)
            text, notes = rendered.text, rendered.notes
    emit(text, output_file)
    if not quiet:
        complain("warning", notes)
    return 0


_NOT_FOR_KAI = (
    "--to kai: found a scheduler that takes no places from outside (its BindRequests are its own), "
    "expected --to kubectl: KAI keeps to the node selector that this adds to gated pods "
    "(docs/with-kai.md)"
)


def _fitting(plan: "Plan", to: TargetName) -> "Plan":
    """Refuse a plan of the other kind of cluster: nothing of it could be done."""
    read_as = plan.metadata.read_as
    source = "" if read_as is None else read_as.source
    if source in ("kubernetes", "slurm") and (source == "slurm") != (to == "slurm"):
        fitting = ["slurm"] if source == "slurm" else [name for name in TARGETS if name != "slurm"]
        found = f"a plan for what was read from {_SOURCES[source]}"
        raise UsageError(f"--to {to}: found {found}, expected {one_of(fitting)}")
    return plan


_SOURCES = {"kubernetes": "Kubernetes", "slurm": "Slurm"}


def _plan(files: list[str]) -> "Plan":
    from kantopt.cli.spoken import speak
    from kantopt.errors import BadDataError, Problem
    from kantopt.report.words import words_for
    from kantopt.schema.answers.plan import Plan
    from kantopt.schema.files import load_native

    pairs = load_native(files)
    plans = [document for _, document in pairs if isinstance(document, Plan)]
    if len(plans) != 1:
        kinds = ", ".join(sorted(str(raw.data["kind"]) for raw, _ in pairs))
        raise BadDataError([Problem(pairs[0][0].file, "", kinds, "one Plan")])
    speak(words_for(plans[0]))
    return plans[0]


def _drawn(files: list[str], how: "Import", *, page: bool) -> tuple[str, tuple[str, ...]]:
    """Draw a cluster, and its plan if there is one, as a picture or as a page; with notes."""
    from kantopt.cli.spoken import words_of
    from kantopt.planning.pictures import picture_of
    from kantopt.planning.question import judging_model, read_question

    question = read_question(files, how)
    picture = picture_of(question, judging_model(question, None))
    notes, words = question.notes, words_of(question)
    told = notes
    if picture.fault:
        told = (f"the plan is not legal here ({picture.fault}); verify says more", *notes)
    if not page:
        from kantopt.report.picture import svg

        return svg(picture, words), told
    from kantopt.report.pages import answer_page, cluster_page

    if question.plan is None:
        return cluster_page(picture, notes, words=words), told
    domains, level = domains_read(question)
    text = answer_page(
        question.plan, picture, notes=notes, words=words, domains=domains, level=level
    )
    return text, told
