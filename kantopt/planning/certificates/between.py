"""Two dumps of a cluster as a question: what stood open to a scheduler, and what it chose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kantopt.errors import BadDataError, Problem
from kantopt.planning.certificates.later import Since, by_priorities, evicted_for, since
from kantopt.planning.certificates.preempted import raised
from kantopt.planning.certificates.terms import attachable, careful_nodes, counted, terms_at
from kantopt.planning.question import Import, Question, question_of
from kantopt.planning.queue_victims import notes_about
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, Role
from kantopt.problem.not_modelled import is_left_alone
from kantopt.problem.placement import Placement
from kantopt.schema.jobs import PodRef, PodSet
from kantopt.schema.model import Model
from kantopt.schema.raw import RawDocument, is_foreign, is_kubernetes, is_slurm
from kantopt.schema.snapshot import ClusterSnapshot

if TYPE_CHECKING:
    from kantopt.formats.pair import Key, Pair, TwoDumps
    from kantopt.schema.answers.history import History

AGAIN = 3
"""Times to take more pods for given where they are, if the import leaves them out."""

NO_NODES = "the later dump has no nodes: those of the first are taken, as they were then"


@dataclass(frozen=True, slots=True)
class Reading:
    """The pods of two dumps as a question, and where they are in the later one."""

    question: Question
    pair: Pair

    def roles(self, instance: Instance) -> Iterator[tuple[Job, Role, PodSet]]:
        """Yield the roles of an instance beside their documents."""
        for job, document in zip(instance.jobs, self.question.documents(instance), strict=True):
            podsets = {podset.name: podset for podset in document.pod_sets}
            yield from ((job, role, podsets[role.name]) for role in job.roles)

    def placement(self, instance: Instance) -> Placement:
        """Return where the pods are in the later dump."""
        return self._found(instance)[0]

    def came(self, instance: Instance) -> Placement:
        """Return where they were, without those that came since and nobody chose a node for.

        But with static ones: a node starts them by itself, whether there is room or not.
        """
        given = self.pair.given
        return self._without(
            instance, instance.current, lambda key, stays: key in given and "static" not in stays
        )

    def released(self, instance: Instance, placement: Placement) -> Placement:
        """Return a placement without terminating pods: Kueue hands their quota on already."""
        return self._without(instance, placement, lambda _, stays: "terminating" in stays)

    def asked(self, instance: Instance, placement: Placement) -> Placement:
        """Return a placement without static pods that came since: nodes ask no rule for them."""
        given = self.pair.given
        return self._without(
            instance, placement, lambda key, stays: key in given and "static" in stays
        )

    def _without(
        self,
        instance: Instance,
        placement: Placement,
        leaves: Callable[[Key, Sequence[str]], bool],
    ) -> Placement:
        podsets: list[Counter[Spot]] = [Counter(dict(spots)) for spots in placement.podsets]
        for job, role, podset in self.roles(instance):
            for place in podset.assignments:
                keys = (_key(job.namespace, pod) for pod in place.pods)
                count = sum(leaves(key, podset.stays) for key in keys)
                if count and role.running is not None:
                    podsets[role.running][_spot(instance, place.node, place.devices)] -= count
        # Who has been left out already is at less than none.
        return Placement(tuple(dict(+spots) for spots in podsets))

    def missing(self, instance: Instance) -> frozenset[Key]:
        """Return pods with a node in the later dump that the question cannot say so of."""
        return self._found(instance)[1]

    def _found(self, instance: Instance) -> tuple[Placement, frozenset[Key]]:
        places = self.pair.places
        podsets: list[dict[Spot, int]] = [{} for _ in instance.podsets]
        lost = {key for key, node in places.items() if node is not None}
        for job, role, podset in self.roles(instance):
            found: Counter[Spot] = Counter()
            for place in podset.assignments:
                for pod in place.pods:
                    key = _key(job.namespace, pod)
                    node = places.get(key, place.node)
                    lost.discard(key)
                    if node is not None:
                        found[_spot(instance, node, place.devices)] += 1
                if nameless := place.count - len(place.pods):  # nobody could say where they went
                    found[_spot(instance, place.node, place.devices)] += nameless
            if role.running is not None:
                podsets[role.running] = dict(found)
            pending = role.pending
            chosen: Counter[Spot] = Counter()
            for pod in podset.pods:
                key = _key(job.namespace, pod)
                node = places.get(key)
                # Which devices a pod has there is not known, and of some jobs only what runs
                # is looked at.
                if node is not None and pending is not None and not podset.devices:
                    lost.discard(key)
                    chosen[_spot(instance, node, ())] += 1
            if pending is not None:
                podsets[pending] = dict(chosen)
        both = zip(instance.current.podsets, podsets, strict=True)
        return Placement(tuple(old if old == new else new for old, new in both)), frozenset(lost)

    def left_alone(self, instance: Instance) -> frozenset[Key]:
        """Return victims that ask for what is not modelled: why they had to go cannot be told."""
        assumed = instance.model.assume
        return frozenset(
            key
            for job, _, podset in self.roles(instance)
            if is_left_alone(podset, assumed)
            for place in podset.assignments
            for key in (_key(job.namespace, pod) for pod in place.pods)
            if self.pair.places.get(key, place.node) != place.node
        )

    def kept_out(self, instance: Instance) -> frozenset[Key]:
        """Return pods that came to nodes which the question, careful as it is, keeps closed."""
        found = set()
        for job, role, podset in self.roles(instance):
            if role.pending is None:
                continue
            allowed = instance.podsets[role.pending].allowed
            for pod in podset.pods:
                key = _key(job.namespace, pod)
                node = self.pair.places.get(key)
                if node is not None and instance.node_index[node] not in allowed:
                    found.add(key)
        return frozenset(found)


def _spot(instance: Instance, node: str, devices: Sequence[int]) -> Spot:
    return Spot(instance.node_index[node], tuple(sorted(devices)))


def _key(namespace: str, pod: PodRef) -> Key:
    return namespace, pod.name, pod.uid


@dataclass(frozen=True, slots=True)
class Between:
    """Two dumps: what is there since, what has been decided, and the terms of both moments."""

    first: Question
    facts: Reading
    """What is there: by this the scheduler's choices are judged."""
    decided: Reading
    """What is decided: by this better plans are looked for. Nodes are as closed and as small as in
    either dump."""
    terms: tuple[ClusterSnapshot, ClusterSnapshot]
    """The facts with nodes and queues of either dump: what either allows was allowed."""
    tainted: tuple[ClusterSnapshot, ...]
    """The same with taints and cordons that were there for a while only, if there are any: a
    spread that counts the nodes a pod tolerates may have been even with them."""

    @property
    def question(self) -> Question:
        """The question that better plans answer."""
        return self.decided.question

    @property
    def history(self) -> History:
        """What changed."""
        return self.decided.pair.history


def between(
    first: Question,
    later: Question,
    raws: Sequence[RawDocument],
    later_raws: Sequence[RawDocument],
    how: Import,
    model: Model,
) -> Between:
    """Put two dumps together.

    Parameters
    ----------
    first, later
        What was read of each by itself; of the later one no pods.
    raws, later_raws
        Their documents, Kubernetes objects or what Slurm prints among both.
    how
        How these are read.
    model
        The model to judge by.

    Raises
    ------
    UsageError, BadDataError
        If both together cannot be read.
    """
    dumps = _dumps(raws, later_raws)
    facts = _reading(dumps, raws, how, model, settled=False)
    decided = facts
    if dumps.settled_differs:
        decided = _reading(dumps, raws, how, model, settled=True)
    decided = _careful(decided, first, later, model)
    shut = decided.kept_out(decided.question.instance(model))
    if shut:
        again = _reading(dumps, raws, how, model, settled=True, given=shut)
        decided = _careful(again, first, later, model)
    own = attachable(facts.question.snapshot, facts.pair.crowded)
    before, after = (terms_at(own, of.snapshot, dumps, dumps.passing) for of in (first, later))
    moments = (first, later) if dumps.passing else ()
    tainted = tuple(terms_at(own, of.snapshot, dumps, ()) for of in moments)
    return Between(first, facts, decided, (before, after), tainted)


def became_of(
    question: Question,
    raws: Sequence[RawDocument],
    after: Sequence[RawDocument],
    how: Import,
    model: Model,
) -> Between | Since:
    """Read what became of a question: of two dumps all that they tell, else a later snapshot.

    Parameters
    ----------
    question, raws
        The question, and the documents it was made of.
    after
        Documents of the later snapshot.
    how, model
        As for :func:`between`.
    """
    if question.imported and any(is_foreign(raw.data) for raw in after):
        completed = _with_nodes(raws, after)
        # Its pods are read with those of the first.
        bare = replace(how, pending=())
        later = question_of([_without_pods(raw) for raw in completed], bare)
        found = between(question, later, raws, completed, how, model)
        return found if len(completed) == len(after) else _noted(found, NO_NODES)
    return since(question, question_of(after, how), model)


def _dumps(raws: Sequence[RawDocument], later: Sequence[RawDocument]) -> TwoDumps:
    """Compare two dumps of the same system.

    Raises
    ------
    BadDataError
        If they are of different ones.
    """
    systems = [
        {is_slurm(raw.data) for raw in given if is_foreign(raw.data)} for given in (raws, later)
    ]
    if systems[0] != systems[1]:
        label = next(raw.label for raw in later if is_foreign(raw.data))
        found, expected = ("Slurm", "Kubernetes") if True in systems[1] else ("Kubernetes", "Slurm")
        text = f"a later dump of {expected}, as the first is"
        raise BadDataError([Problem(label, "", f"a dump of {found}", text)])
    dumps = _compared(raws, later, slurm=True in systems[0])
    if why := dumps.earlier():
        label = next(raw.label for raw in later if is_foreign(raw.data))
        raise BadDataError([Problem(label, "", f"an earlier dump: {why}", "the later of the two")])
    return dumps


def _compared(
    raws: Sequence[RawDocument], later: Sequence[RawDocument], *, slurm: bool
) -> TwoDumps:
    if slurm:
        from kantopt.formats.slurm.pairing import SlurmDumps

        return SlurmDumps(raws, later)
    from kantopt.formats.kubernetes.history.pairing import KubernetesDumps

    return KubernetesDumps(_objects(raws), _objects(later))


def _objects(raws: Iterable[RawDocument]) -> list[Any]:
    from kantopt.formats.kubernetes.objects import flatten

    return [item for raw in raws if is_kubernetes(raw.data) for item in flatten(raw.data)]


def _is_a(kind: str, item: object) -> bool:
    return isinstance(item, dict) and item.get("kind") == kind


def _listed(items: list[Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _with_nodes(raws: Sequence[RawDocument], later: Sequence[RawDocument]) -> list[RawDocument]:
    """Return a later dump of Kubernetes with the nodes of the first, if it has none of its own."""
    first, since = ([x for x in _objects(given) if _is_a("Node", x)] for given in (raws, later))
    if since or not first:
        return list(later)
    return [*later, replace(later[0], data=_listed(first))]


def _noted(found: Between, note: str) -> Between:
    question = replace(found.question, notes=(*found.question.notes, note))
    return replace(found, decided=replace(found.decided, question=question))


def _without_pods(raw: RawDocument) -> RawDocument:
    if not is_kubernetes(raw.data):
        return raw
    return replace(raw, data=_listed([x for x in _objects([raw]) if not _is_a("Pod", x)]))


def _reading(
    dumps: TwoDumps,
    raws: Sequence[RawDocument],
    how: Import,
    model: Model,
    *,
    settled: bool,
    given: frozenset[Key] = frozenset(),
) -> Reading:
    """Import two dumps as one; pods that the import leaves out are given where they are."""
    native = [raw for raw in raws if not is_foreign(raw.data)]
    file = next(raw.file for raw in raws if is_foreign(raw.data))
    for _ in range(AGAIN):
        pair = dumps.pair(given, settled=settled)
        question = question_of([*native, RawDocument(file, 0, pair.data)], how)
        reading = Reading(question, pair)
        instance = by_priorities(question).instance(model)
        missing = reading.missing(instance) | reading.left_alone(instance)
        if missing <= given:
            break
        given |= missing
    # Who was evicted was so, whomever Kueue would have chosen: queues say who else may be.
    question = replace(question, done=evicted_for(instance, reading.placement(instance)))
    told = notes_about(question.notes, question.spared(model))
    return Reading(replace(question, notes=told), pair)


def _careful(reading: Reading, first: Question, later: Question, model: Model) -> Reading:
    """Close nodes that either dump has closed, and take budgets as they were."""
    question = reading.question
    known = careful_nodes(first.snapshot, later.snapshot)
    budgets = question.snapshot.pod_disruption_budgets
    snapshot = question.snapshot.model_copy(
        update={
            "nodes": tuple(
                counted(known.get(node.name, node), node) for node in question.snapshot.nodes
            ),
            "pod_disruption_budgets": raised(budgets, first, reading.pair.history, model),
        }
    )
    return replace(reading, question=replace(question, snapshot=snapshot))
