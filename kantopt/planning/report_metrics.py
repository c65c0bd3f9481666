"""Every metric of a cluster as it is and after a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from kantopt.errors import BadDataError, UsageError
from kantopt.planning.by_size import spread_figures
from kantopt.planning.document.actions import waves_of
from kantopt.planning.question import Question
from kantopt.problem.ages import Ages
from kantopt.problem.counted import counted, counted_nodes
from kantopt.problem.instance import Instance
from kantopt.problem.restricted import finest_level
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.answers.reports import Amount, Figure, MetricsReport
from kantopt.schema.base import API_VERSION, Metadata
from kantopt.schema.hints import one_of, perhaps, plural
from kantopt.schema.model import Metric, Model, Objective
from kantopt.schema.objectives import TotalObjective
from kantopt.schema.quantity import from_base, resource_called, to_base
from kantopt.verify.metrics import MEASURES
from kantopt.verify.metrics.fragment_rate import free_amounts, slots_now
from kantopt.verify.metrics.fragmented_nodes import node_gpus_used
from kantopt.verify.metrics.lost_gpu_seconds import stopped
from kantopt.verify.replay import replay
from kantopt.verify.step import Step

POOL_LABELS = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "alibabacloud.com/gpu-card-model",
    "cloud.google.com/gke-accelerator",
)
"""Node labels that name the model of the GPUs; the first that any node has makes the pools."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A size of which free slots are counted, per node or per device of a class."""

    size: str
    resource: str = "cpu"
    device_class: str | None = None


def report_metrics(question: Question, model: Model, slots: Sequence[Slot] = ()) -> MetricsReport:
    """Measure a cluster, and again after the plan if the question has one.

    Parameters
    ----------
    question
        The documents.
    model
        Its objectives may name a job mix, slot sizes and the topology level of groups.
    slots
        More slot sizes to count.

    Raises
    ------
    UsageError
        If a slot is of a resource or device class that the cluster does not have.
    BadDataError
        If the documents contradict each other or the plan acts on what is not there.
    """
    model = _with_losses(model)
    instance = question.instance(model)
    tiers = tiers_of(instance)
    before = Step(instance, instance.current, instance.current)
    after, notes = None, list(question.notes)
    if question.plan is not None:
        waves, problems = waves_of(instance, question.plan, "the plan")
        if problems:
            raise BadDataError(problems)
        violations, final = replay(instance, waves)
        if violations:
            why = f"the plan is not legal here ({violations[0]}): nothing is measured after it"
            notes.insert(0, f"{why}; verify says more")
        else:
            after = Step(instance, instance.current, final)
            notes += _unknown_losses(question, model, after)
    sized = [_slot_tier(instance, slot) for slot in slots]
    sized += [tier for tier in tiers if tier.metric is Metric.FRAGMENT_RATE and tier not in sized]
    level = next((t.level for t in tiers if t.metric is Metric.EXCESS_GROUPS), None)
    level = finest_level(instance) if level is None else level
    mixes = [tier.mix for tier in tiers if tier.metric is Metric.STRANDED_GPUS]
    measured = _Measured(before, after)
    timed = any(job.creation_time for job in question.jobs)
    if timed and question.snapshot.metadata.captured_at is None:
        notes.append("how long jobs have waited is not known: the snapshot has no capturedAt")
    return MetricsReport(
        api_version=API_VERSION,
        kind="Metrics",
        metadata=Metadata(name=question.snapshot.metadata.name),
        planned=after is not None,
        figures=(
            *_gpus(measured),
            *(figure for tier in sized for figure in _fragments(measured, tier)),
            *_stranded(measured, mixes or [instance.mix]),
            *_unplaced(measured),
            *_loads(measured, [tier for tier in tiers if tier.metric is Metric.BALANCE]),
            *_shares(measured),
            *_closeness(measured, level),
            *_disruption(measured),
        ),
        spreads=tuple(spread_figures(before, after, level)),
        notes=tuple(notes),
    )


@dataclass(frozen=True, slots=True)
class _Measured:
    """The states to measure."""

    before: Step
    after: Step | None

    @property
    def instance(self) -> Instance:
        return self.before.instance

    def figure(
        self,
        metric: Metric | str,
        text: str,
        unit: str,
        value: Callable[[Step], int | tuple[int, int]],
        scope: str = "",
    ) -> Figure:
        """Measure both states; ``value`` returns a number, or a part and its whole."""
        return Figure(
            metric=str(metric),
            scope=scope,
            text=text,
            unit=unit,
            before=_amount(value(self.before)),
            after=None if self.after is None else _amount(value(self.after)),
        )


def _amount(value: int | tuple[int, int]) -> Amount:
    return Amount(value=value) if isinstance(value, int) else Amount(value=value[0], of=value[1])


def _tier_value(tier: Tier) -> Callable[[Step], int]:
    return lambda step: MEASURES[tier.metric](tier, step)


def _gpus(measured: _Measured) -> Iterator[Figure]:
    instance = measured.instance
    usable = counted_nodes(instance)
    nodes = [node.index for node in instance.nodes if node.gpu_milli and node.index in usable]

    def allocated(members: Sequence[int]) -> Callable[[Step], tuple[int, int]]:
        offered = sum(instance.nodes[n].gpu_milli for n in members)

        def value(step: Step) -> tuple[int, int]:
            used = node_gpus_used(step)
            # A node may hold more: GPUs have broken, or pods are nominated to those of others.
            return sum(min(used[n], instance.nodes[n].gpu_milli) for n in members), offered

        return value

    if nodes:
        text = "GPUs allocated (GAR)"
        yield measured.figure(Metric.ALLOCATION, text, "milli-GPU", allocated(nodes))
        for pool, members in _pools(instance, nodes):
            yield measured.figure(Metric.ALLOCATION, text, "milli-GPU", allocated(members), pool)
        fragmented = _tier_value(Tier(Metric.FRAGMENTED_NODES, "nodes"))
        yield measured.figure(
            Metric.FRAGMENTED_NODES,
            "GPU nodes partly used (GFR)",
            "nodes",
            lambda step: (fragmented(step), len(nodes)),
        )
    in_use = _tier_value(Tier(Metric.NODES_IN_USE, "nodes"))  # with GPUs or without
    yield measured.figure(
        Metric.NODES_IN_USE,
        "nodes in use",
        "nodes",
        lambda step: (in_use(step), len(usable)),
    )
    if any(instance.nodes[n].price for n in usable):
        tier = Tier(Metric.COST, "micro-units")
        yield measured.figure(tier.metric, "price of nodes in use", tier.unit, _tier_value(tier))
    if any(instance.nodes[n].idle_power or instance.nodes[n].power_per_gpu for n in usable):
        tier = Tier(Metric.ENERGY, "milliwatts")
        yield measured.figure(tier.metric, "power of nodes in use", tier.unit, _tier_value(tier))


def _pools(instance: Instance, nodes: Sequence[int]) -> list[tuple[str, list[int]]]:
    """GPU nodes by product, if there is more than one."""
    for label in POOL_LABELS:
        pools: dict[str, list[int]] = {}
        for n in nodes:
            pools.setdefault(instance.nodes[n].labels.get(label, "(no product)"), []).append(n)
        if len(pools) > 1:
            return sorted(pools.items())
    return []


def _slot_tier(instance: Instance, slot: Slot) -> Tier:
    slot = replace(slot, resource=resource_called(slot.resource, instance.offered))
    resources = [name for name in instance.offered if name != "pods"]
    if slot.resource not in instance.offered:
        expected = f"{one_of(resources)}{perhaps(slot.resource, resources)}"
        raise UsageError(f"--slot-resource: found {slot.resource}, expected {expected}")
    classes = sorted({d.device_class for node in instance.nodes for d in node.devices})
    if slot.device_class is not None and slot.device_class not in classes:
        expected = one_of(classes) if classes else "none: the nodes have no devices"
        raise UsageError(f"--slot-devices: found {slot.device_class}, expected {expected}")
    try:
        size = to_base(slot.resource, slot.size)
    except ValueError as error:
        raise UsageError(f"--slot: found {slot.size}, which is {error}") from None
    if size == 0:
        raise UsageError(f"--slot: found {slot.size}, expected more than nothing")
    resource = instance.resources.index(slot.resource)
    return Tier(
        Metric.FRAGMENT_RATE,
        "slots",
        resource=resource,
        size=size,
        device_class=slot.device_class,
    )


def _fragments(measured: _Measured, tier: Tier) -> Iterator[Figure]:
    """FR: the part of what is free that makes no slot; and the slots that there are."""
    assert tier.resource is not None
    resource = measured.instance.resources[tier.resource]
    size = from_base(resource, tier.size)
    scope = f"{size} {resource} per {tier.device_class or 'node'}"

    def unusable(step: Step) -> tuple[int, int]:
        free = free_amounts(tier, step.loads)
        return sum(amount % tier.size for amount in free), sum(free)

    def slots(step: Step) -> tuple[int, int]:
        return slots_now(tier, step.loads), sum(free_amounts(tier, step.loads)) // tier.size

    # The rate is known as FR16 for 16 cores; only whole sizes make such a name.
    name = f"FR{size}" if str(size).isalnum() else "FR"
    yield measured.figure(
        Metric.FRAGMENT_RATE, f"{name}, free in no slot", resource, unusable, scope
    )
    yield measured.figure("free_slots", "free slots", "slots", slots, scope)


def _stranded(measured: _Measured, mixes: Sequence[Sequence[object]]) -> Iterator[Figure]:
    for mix in dict.fromkeys(tuple(mix) for mix in mixes):
        tier = Tier(Metric.STRANDED_GPUS, "milli-GPU x mix", mix=mix)  # type: ignore[arg-type]
        weight = sum(shape.weight for shape in tier.mix)
        if not weight:
            continue

        def stranded(step: Step, tier: Tier = tier, weight: int = weight) -> tuple[int, int]:
            used, nodes = node_gpus_used(step), step.instance.nodes
            free = sum(max(0, nodes[n].gpu_milli - used[n]) for n in counted(step.instance, tier))
            # Rounded to the nearest: half of a thousandth of a GPU is nothing to anybody.
            return (2 * MEASURES[tier.metric](tier, step) + weight) // (2 * weight), free

        yield measured.figure(
            Metric.STRANDED_GPUS,
            "GPUs stranded for the mix (FGD)",
            "milli-GPU",
            stranded,
        )


def _unplaced(measured: _Measured) -> Iterator[Figure]:
    for priority in measured.instance.priorities:
        scope = f"priority={priority}"
        for unit in ("milli-GPU", "jobs", "pods"):
            core = _tier_value(Tier(Metric.UNPLACED, unit, priority))
            more = _tier_value(Tier(Metric.UNPLACED, unit, priority, surplus=True))

            def value(
                step: Step,
                unit: str = unit,
                core: Callable[[Step], int] = core,
                more: Callable[[Step], int] = more,
            ) -> int:
                return core(step) + (0 if unit == "jobs" else more(step))

            yield measured.figure(Metric.UNPLACED, "unplaced", unit, value, scope)
    if any(job.waited_seconds for job in measured.instance.jobs):
        waiting = _tier_value(Tier(Metric.WAITING, "seconds"))
        yield measured.figure(Metric.WAITING, "waited by unplaced jobs", "seconds", waiting)


def _shares(measured: _Measured) -> Iterator[Figure]:
    if any(measured.instance.entitled):
        tier = Tier(Metric.FAIR_SHARE, "milli-GPU")
        text = "queues' GPUs below fair share"
        yield measured.figure(tier.metric, text, tier.unit, _tier_value(tier))


def _loads(measured: _Measured, tiers: Sequence[Tier]) -> Iterator[Figure]:
    for tier in tiers:
        yield measured.figure(
            tier.metric, "load above target", tier.unit, _tier_value(tier), tier.scope
        )


def _closeness(measured: _Measured, level: int | None) -> Iterator[Figure]:
    topology = measured.instance.topology
    metrics = [
        (Tier(Metric.DOMAINS_CROSSED, "domains"), "preferred domains over fewest", ""),
        (Tier(Metric.EXCESS_NODES, "nodes"), "gangs' nodes over fewest", ""),
    ]
    if level is not None:
        tier = Tier(Metric.EXCESS_GROUPS, "groups", level=level)
        metrics.append((tier, "gangs' groups over fewest", topology.levels[level]))
    for tier, text, scope in metrics:
        yield measured.figure(tier.metric, text, tier.unit, _tier_value(tier), scope)


def _with_losses(model: Model) -> Model:
    """Return a model that counts lost GPU time and memory copied: pods know of them if asked."""
    counted = (
        Objective(lost_gpu_seconds=TotalObjective()),
        Objective(migration_cost=TotalObjective()),
    )
    return model.model_copy(update={"objectives": (*(model.objectives or ()), *counted)})


def _unknown_losses(question: Question, model: Model, after: Step) -> Iterator[str]:
    """Say of how many pods that are stopped nobody knows what they lose; M15 counts 0 of them."""
    ages, documents = Ages(question.snapshot, model), question.documents(after.instance)
    unknown = 0
    for podset in after.changed_podsets:
        document = documents[podset.job]
        its = next(each for each in document.pod_sets if each.name == podset.name)
        if podset.gpu_milli and ages.unsaved(document, its) is None:
            unknown += stopped(podset, after)
    if unknown:
        yield f"GPU time lost is unknown of {plural(unknown, 'pod')} whose age is not known"


def _disruption(measured: _Measured) -> Iterator[Figure]:
    if measured.after is None:
        return
    for tier, text in (
        (Tier(Metric.EVICTIONS, "cost"), "cost of evictions"),
        (Tier(Metric.EVICTIONS, "pods"), "pods evicted"),
        (Tier(Metric.LOST_GPU_SECONDS, "GPU-seconds"), "GPU time lost"),
        (Tier(Metric.MOVES, "pods"), "pods moved"),
        (Tier(Metric.DISRUPTION_COST, "cost"), "disruption cost"),
    ):
        yield measured.figure(tier.metric, text, tier.unit, _tier_value(tier))
    if any(podset.migration_mib for podset in measured.instance.podsets):
        tier = Tier(Metric.MIGRATION_COST, "MiB")
        yield measured.figure(
            tier.metric, "memory that moves copy or load again", tier.unit, _tier_value(tier)
        )
