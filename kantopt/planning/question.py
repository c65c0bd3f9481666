"""From files to a question: whatever was given, told apart by what it says it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace

from kantopt.errors import BadDataError, Problem
from kantopt.formats.imported import Imported, ImportFacts
from kantopt.planning.doubts import doubts
from kantopt.planning.queue_victims import Spared, spared, without_spared
from kantopt.planning.strict_order import behind_line
from kantopt.problem.build import build_instance
from kantopt.problem.chosen import as_cordoned
from kantopt.problem.instance import Instance
from kantopt.schema.answers.certificate import Certificate
from kantopt.schema.answers.plan import Plan
from kantopt.schema.base import Part
from kantopt.schema.consistency import check_documents
from kantopt.schema.extends import load_model, resolve_model
from kantopt.schema.features import FEATURES, Feature
from kantopt.schema.files import load_raw
from kantopt.schema.garbage import kept
from kantopt.schema.hints import named, quote
from kantopt.schema.jobs import Job, JobList
from kantopt.schema.model import Model
from kantopt.schema.policy import Policy
from kantopt.schema.raw import RawDocument, is_foreign, is_slurm
from kantopt.schema.read_as import ReadAs
from kantopt.schema.replicas import names_of, replicated
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.stays import LIFTABLE, Liftable
from kantopt.schema.trace import Trace
from kantopt.schema.validation import validate_all


@dataclass(frozen=True, slots=True)
class Import:
    """How objects of Kubernetes or Slurm are read."""

    gated: bool = False
    """Pods held back by scheduling gates count as pending; of Slurm held jobs."""
    pending: tuple[str, ...] = ()
    """Patterns NAMESPACE/NAME of the pods or jobs that count as pending; none: all of them."""
    levels: tuple[str, ...] = ()
    """Node labels of the topology, coarse to fine; none: found out."""
    labels: frozenset[str] = frozenset()
    """Pod labels to keep, beside those that something selects."""
    disturb: tuple[str, ...] = ()
    """Causes that keep no pod where it is, by name."""
    assume: tuple[str, ...] = ()
    """Names of what is not modelled and taken for granted: of Kubernetes objects or not."""
    heard: Callable[[Question], None] | None = field(default=None, compare=False)
    """Who is told at once what was read: what follows may be refused in words about it."""
    since: bool = False
    """Jobs of lists may have come to the cluster meanwhile: they count as it shows them."""


@dataclass(frozen=True, slots=True)
class Question(ImportFacts):
    """Documents that belong together: a cluster, what is pending, a model, perhaps a plan."""

    source: str
    snapshot: ClusterSnapshot
    pending: tuple[Job, ...]
    model: Model | None
    plan: Plan | None
    notes: tuple[str, ...]
    """What importing dropped or assumed."""
    imported: bool = False
    """Whether the snapshot was made of another system's objects."""
    assume: tuple[Feature, ...] = ()
    """What is not modelled and taken for granted, whatever the model says."""
    disturb: tuple[Liftable, ...] = ()
    """Causes that kept no pod where it is when Kubernetes objects were read."""
    annotated: tuple[str, ...] = ()
    """Annotations that importing took at their word, with how many pods have them."""
    read_as: ReadAs | None = None
    """What a plan remembers of how this was read."""
    asked: tuple[str, ...] = ()
    """Patterns of the pending jobs that whoever read it asked about; none: all of them."""
    about: str | None = None
    """The one job for which others may be evicted; ``None``: all that a model asks about."""
    done: frozenset[str] = frozenset()
    """Jobs that a scheduler has evicted meanwhile, and for whom: that it did is not asked about."""

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Documents of all jobs, in order."""
        return (*self.snapshot.jobs, *self.pending)

    def documents(self, instance: Instance) -> tuple[Job, ...]:
        """Documents of the instance's jobs, in its order."""
        jobs = as_cordoned(self.jobs, instance.model.drain)
        by_name = {job.full_name: job for job in jobs}
        return tuple(by_name[job.name] for job in instance.jobs)

    def instance(self, model: Model) -> Instance:
        """Freeze the question under a model."""
        if self.assume:
            assumed = tuple(f for f in FEATURES if f in (*model.assume, *self.assume))
            model = model.model_copy(update={"assume": assumed})
        if self.disturb:
            model = model.model_copy(update={"disturb": self.disturb})
        with kept():
            asked = without_spared(self.snapshot, self.pending, self.spared(model))
            return build_instance(*asked, model, source=self.source)

    def spared(self, model: Model) -> Spared:
        """Find out who is not evicted under a model, and who evicts nobody."""
        return spared(self.snapshot, self.pending, model, self.about, self.done)


def read_question(paths: Sequence[str], how: Import = Import()) -> Question:
    """Read a snapshot and whatever else the files hold.

    Parameters
    ----------
    paths
        Files in any order, ``-`` for standard input: one snapshot (ours, Kubernetes objects or
        what Slurm prints, which may be spread over files), any number of job lists, at most one
        model and one plan. Jobs that only the plan knows are taken from it.
    how
        How Kubernetes objects are read.

    Raises
    ------
    UsageError, MissingInputError, BadDataError
        If a file cannot be read, a document cannot be used, or they do not belong together.
    """
    return question_of(load_raw(paths), how)


def question_of(raws: Sequence[RawDocument], how: Import = Import()) -> Question:
    """Make a question of documents that have been read; as :func:`read_question`."""
    with kept():
        return _question_of(raws, how)


def _question_of(raws: Sequence[RawDocument], how: Import) -> Question:
    assume = named("--assume", how.assume, FEATURES)
    lifting = named("--disturb", how.disturb, LIFTABLE)
    disturb: tuple[Liftable, ...] = ()
    native = [raw for raw in raws if not is_foreign(raw.data)]
    foreign = [raw for raw in raws if is_foreign(raw.data)]
    pairs, problems = validate_all(native)
    read: Imported | None = None
    annotated: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # an import warns of an empty cluster itself
    pending: list[Job] = []
    of_import: list[tuple[str, Sequence[Job]]] = []
    snapshots = [(raw, doc) for raw, doc in pairs if isinstance(doc, ClusterSnapshot)]
    if not problems:
        problems = check_documents(pairs)
    if foreign and not problems:
        models = [model for raw, doc in pairs for model in _models_in(doc, raw.file)]
        keys = {key for model in models for key in exempt_keys(model)}
        lifted = {*lifting, *(cause for each in models for cause in each.disturb)}
        disturb = tuple(cause for cause in LIFTABLE if cause in lifted)
        how = replace(how, labels=how.labels | keys, disturb=disturb)
        how, asked = _as_before(how, [doc for _, doc in pairs if isinstance(doc, Plan)])
        read, annotated = imported(foreign, how, patterns_known=asked)
        file, notes = foreign[0].file, read.notes
        of_import = [(file, (*read.snapshot.jobs, *read.pending.jobs))]
        snapshots.append((RawDocument(file, 0, {}), read.snapshot))
        pending += read.pending.jobs
    # A document that cannot be used is there all the same: it is not missed as well.
    problems = problems or _single(raws, pairs, snapshots)
    # Which jobs lists have that came to the cluster since is no matter.
    apart = JobList if how.since else ClusterSnapshot | JobList
    listed = [(raw.label, doc.jobs) for raw, doc in pairs if isinstance(doc, apart) and doc.jobs]
    problems = problems or list(_repeated([*listed, *([] if how.since else of_import)]))
    if problems:
        raise BadDataError(problems)
    plan = next((doc for _, doc in pairs if isinstance(doc, Plan)), None)
    snapshot = snapshots[0][1]
    if any(job.replicas is not None for job in snapshot.jobs):
        snapshot = snapshot.model_copy(update={"jobs": replicated(snapshot.jobs)})
    lists = [doc for _, doc in pairs if isinstance(doc, JobList)]
    # What is doubtful comes first: of many notes only the first are told in a line.
    doubtful = doubts(snapshot, lists, None if read is None else read.pending.jobs)
    notes = (*doubtful, *notes)
    waiting = replicated(job for each in lists for job in each.jobs)
    if how.since:
        there = {job.full_name for job in (*snapshot.jobs, *pending)}
        waiting = tuple(job for job in waiting if job.full_name not in there)
    pending += waiting
    if plan is not None:
        known = {(job.namespace, job.name) for job in (*snapshot.jobs, *pending)}
        # One that ran when the plan was made and is gone since is no pending job.
        pending += [
            job
            for job in replicated(plan.jobs)
            if (job.namespace, job.name) not in known
            and not any(podset.assignments for podset in job.pod_sets)
        ]
    model = next(
        (resolve_model(doc, raw.file) for raw, doc in pairs if isinstance(doc, Model)), None
    )
    waits = tuple(pending)
    told = spared(snapshot, waits, model or load_model("mixed")).lines()
    notes = (*notes, *told, *behind_line(snapshot, pending))
    facts = read or ImportFacts()
    question = Question(
        source=snapshots[0][0].file,
        snapshot=snapshot,
        pending=waits,
        model=model,
        plan=plan,
        notes=notes,
        imported=bool(foreign),
        assume=assume,
        disturb=disturb,
        annotated=annotated,
        read_as=_read_as(how, foreign),
        **{fact.name: getattr(facts, fact.name) for fact in fields(ImportFacts)},
    )
    if how.heard is not None:
        how.heard(question)
    return question


def _as_before(how: Import, plans: Sequence[Plan]) -> tuple[Import, bool]:
    """Read a cluster as it was read for a plan, unless somebody says otherwise.

    Returns
    -------
    tuple[Import, bool]
        How to read, and whether what counts as pending was asked for just now: by now nobody may
        be pending of those that were when the plan was made.
    """
    before = plans[0].metadata.read_as if plans else None
    if before is None:
        return how, True
    merged = replace(
        how,
        gated=how.gated or before.gated,
        pending=how.pending or before.pending,
        levels=how.levels or before.topology,
    )
    return merged, bool(how.pending)


def _read_as(how: Import, foreign: Sequence[RawDocument]) -> ReadAs:
    if not foreign:
        return ReadAs(source="kantopt")
    return ReadAs(
        source="slurm" if is_slurm(foreign[0].data) else "kubernetes",
        gated=how.gated,
        pending=how.pending,
        topology=how.levels,
    )


def lifted(names: Iterable[str], model: str | None) -> tuple[str, ...]:
    """Return the causes that a command line lifts, and the model that it names."""
    return (*names, *(() if model is None else load_model(model).disturb))


def chosen_model(question: Question, name: str | None) -> Model:
    """Return the model to use: the one named, else the one among the files, else ``mixed``."""
    if name is not None:
        return load_model(name)
    return question.model or load_model("mixed")


def judging_model(question: Question, name: str | None) -> Model:
    """Return the model to judge by: as :func:`chosen_model`, but a plan brings its own along."""
    if name is None and question.model is None and question.plan is not None:
        return resolve_model(question.plan.model, "the plan")
    return chosen_model(question, name)


def exempt_keys(model: Model) -> frozenset[str]:
    """Return the labels by which a model exempts pods."""
    return frozenset(selector.partition("=")[0] for selector in model.exempt)


def _models_in(document: Part, file: str) -> Iterator[Model]:
    """Yield a model with all that it extends, or the model of a plan."""
    if isinstance(document, Plan):
        yield document.model
    elif isinstance(document, Model):
        yield resolve_model(document, file)


def imported(
    raws: Sequence[RawDocument], how: Import, *, patterns_known: bool = True
) -> tuple[Imported, tuple[str, ...]]:
    """Import a cluster; return with it the annotations that were taken at their word.

    ``patterns_known``: what counts as pending was asked for just now, and has to be there.

    Raises
    ------
    BadDataError
        If it cannot be read, or is of two systems.
    """
    by_slurm = [raw for raw in raws if is_slurm(raw.data)]
    if by_slurm and len(by_slurm) < len(raws):
        other = next(raw for raw in raws if not is_slurm(raw.data))
        expected = f"one cluster, as {by_slurm[0].label} is of Slurm"
        raise BadDataError([Problem(other.label, "", "Kubernetes objects", expected)])
    if by_slurm:
        from kantopt.formats.slurm.cluster import import_slurm

        slurm = import_slurm(raws, gated=how.gated, pending=how.pending, levels=how.levels)
        return slurm, ()
    from kantopt.formats.kubernetes.annotations import annotations_read
    from kantopt.formats.kubernetes.dump import import_kubernetes
    from kantopt.formats.kubernetes.objects import flatten

    objects = [item for raw in raws for item in flatten(raw.data)]
    read = import_kubernetes(
        objects,
        file=raws[0].file,
        gated=how.gated,
        pending=how.pending,
        levels=how.levels,
        labels=how.labels,
        disturb=how.disturb,
        patterns_known=patterns_known,
    )
    return read, annotations_read(objects)


def _repeated(listed: Sequence[tuple[str, Sequence[Job]]]) -> Iterator[Problem]:
    """Report jobs that another document has as well; within one it has been checked."""
    if len(listed) < 2:
        return
    first: dict[str, tuple[int, str]] = {}
    for number, (label, jobs) in enumerate(listed):
        for i, job in enumerate(jobs):
            for name in names_of(job):
                where = number, f"{label}: jobs[{i}]"
                before, place = first.setdefault(name, where)
                if before != number:
                    found = f"the job {quote(name)} again"
                    yield Problem(label, f"jobs[{i}].name", found, f"it once, as in {place}")


def _single(
    raws: Sequence[RawDocument],
    pairs: Sequence[tuple[RawDocument, Part]],
    snapshots: Sequence[tuple[RawDocument, ClusterSnapshot]],
) -> list[Problem]:
    """One cluster, and at most one model and one plan."""
    problems = []
    if not snapshots:
        kinds = sorted({str(raw.data.get("kind")) for raw in raws}) or ["nothing"]
        expected = "a ClusterSnapshot, Kubernetes objects or what Slurm prints among the files"
        file = raws[0].file if raws else "the files"
        problems.append(Problem(file, "", ", ".join(kinds), expected))
    for raw, doc in pairs:
        for other, user in (
            (Certificate, "`kantopt verify --certificate` judges it"),
            (Trace, "`kantopt simulate` runs it"),
            (Policy, "`kantopt simulate` follows it"),
        ):
            if isinstance(doc, other):
                expected = f"a snapshot, jobs, a model or a plan; {user}"
                problems.append(Problem(raw.label, "kind", other.__name__, expected))
    counts = {
        "ClusterSnapshot": [raw for raw, _ in snapshots],
        "Model": [raw for raw, doc in pairs if isinstance(doc, Model)],
        "Plan": [raw for raw, doc in pairs if isinstance(doc, Plan)],
    }
    for kind, found in counts.items():
        if len(found) > 1:
            labels = ", ".join(raw.label for raw in found)
            problems.append(
                Problem(found[1].label, "", f"{len(found)} {kind}s ({labels})", f"one {kind}")
            )
    return problems
