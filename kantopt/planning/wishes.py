"""Goals as they are written on a command line, turned into objectives of a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from kantopt.errors import UsageError
from kantopt.problem.chosen import asked_for
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.hints import did_you_mean, one_of, quote
from kantopt.schema.jobs import Job
from kantopt.schema.model import Metric, Objective
from kantopt.schema.quantity import parse_quantity, to_base
from kantopt.verify.metrics import MEASURES
from kantopt.verify.metrics.fragment_rate import free_amounts
from kantopt.verify.step import Step

FORMS = (
    "empty-nodes[=N]",
    "empty-domain=LEVEL[:N]",
    "fragment-rate=RESOURCE:SIZE[/CLASS][:N]",
    "stranded-gpus[=X]",
    "fit=JOB[,JOB...]",
)
"""How goals are written; N slots also as a rate, P%, and any N as +N: more than there are now."""

_SLOT = re.compile(r"([^:=]+?):([^:/]+)(?:/([^:]+))?(?::([^:]+))?")


@dataclass(slots=True)
class Wishes:
    """Goals as objectives.

    Attributes
    ----------
    objectives
        One per goal, in their order; of ``fit`` one for all jobs.
    fit
        Patterns of the pending jobs to make room for.
    beyond
        What was asked for beyond all that there is, in words: such goals are set as far as the
        cluster goes, and missed for certain.
    """

    objectives: list[Objective] = field(default_factory=list)
    fit: tuple[str, ...] = ()
    beyond: list[str] = field(default_factory=list)


def read_goals(goals: Sequence[str], instance: Instance, jobs: Sequence[Job]) -> Wishes:
    """Read goals as they are written on the command line.

    Parameters
    ----------
    goals
        See :data:`FORMS`.
    instance
        The cluster: how many nodes and domains there are, and what is free now.
    jobs
        Documents of all jobs, for those to make room for.

    Raises
    ------
    UsageError
        If one cannot be understood, names what the cluster does not have, or stands there twice.
    """
    wishes = Wishes()
    for text in goals:
        name, given, rest = text.partition("=")
        if name not in _READERS:
            hint = did_you_mean(name, list(_READERS))
            expected = f"{one_of(FORMS)}" + (f" ({hint})" if hint else "")
            raise UsageError(f"--goal: found {quote(text)}, expected {expected}")
        objective = _READERS[name](_Goal(text, rest if given else None, instance, jobs), wishes)
        if objective in wishes.objectives:
            if name == "fit":
                continue
            raise UsageError(f"--goal: found {quote(text)} twice, expected each goal once")
        wishes.objectives.append(objective)
    return wishes


@dataclass(frozen=True, slots=True)
class _Goal:
    text: str
    rest: str | None
    instance: Instance
    jobs: Sequence[Job]

    def fail(self, found: str, expected: str, hint: str = "") -> UsageError:
        more = f" ({hint})" if hint else ""
        return UsageError(f"--goal {self.text}: found {found}, expected {expected}{more}")

    def number(self, text: str, now: int) -> int:
        """Read N or +N."""
        if not re.fullmatch(r"\+?\d{1,9}", text):
            raise self.fail(quote(text), "a whole number, or +N for N more than there are")
        return now + int(text) if text.startswith("+") else int(text)

    def step(self) -> Step:
        return Step(self.instance, self.instance.current, self.instance.current)


def _left(goal: _Goal, wishes: Wishes, text: str | None, now: int, most: int, what: str) -> Any:
    """Target of a metric that counts what is left of ``most`` where so many are wanted."""
    if text is None:
        return None
    wanted = goal.number(text, now)
    if wanted > most:
        text = (
            f"goal {goal.text}: {wanted} {what} are more than all that there is; planned for {most}"
        )
        wishes.beyond.append(text)
    return max(0, most - wanted)


def _objective(metric: Metric, **parameters: Any) -> Objective:
    given = {name: value for name, value in parameters.items() if value is not None}
    return Objective.model_validate({metric.value: given})


def _empty_nodes(goal: _Goal, wishes: Wishes) -> Objective:
    metric, nodes = Metric.NODES_IN_USE, len(goal.instance.nodes)
    now = nodes - MEASURES[metric](Tier(metric, "nodes"), goal.step())
    target = _left(goal, wishes, goal.rest, now, nodes, "empty nodes")
    return _objective(metric, target=target)


def _empty_domain(goal: _Goal, wishes: Wishes) -> Objective:
    topology, metric = goal.instance.topology, Metric.DOMAINS_IN_USE
    level, _, number = (goal.rest or "").rpartition(":")
    if not level:  # labels of nodes have no colon, but a number has to be told from a level
        level, number = goal.rest or "", ""
    names = list(dict.fromkeys((*topology.levels, *topology.labels)))
    if level not in names:
        expected = one_of(names) if names else "a level, and the cluster has none"
        raise goal.fail(quote(level), expected, did_you_mean(level, names))
    index = topology.level(level)
    most = len(topology.domains[index])
    now = most - MEASURES[metric](Tier(metric, "domains", level=index), goal.step())
    target = _left(goal, wishes, number or None, now, most, f"empty domains of {level}")
    return _objective(metric, level=level, target=target)


def _fragment_rate(goal: _Goal, wishes: Wishes) -> Objective:
    match = _SLOT.fullmatch(goal.rest or "")
    if match is None:
        raise goal.fail(quote(goal.rest or ""), "RESOURCE:SIZE[/CLASS][:N], such as cpu:16/numa:40")
    resource, size, device_class, wanted = match.groups()
    tier = _slot_tier(goal, resource, size, device_class)
    free = free_amounts(tier, goal.step())
    ideal, now = sum(free) // tier.size, sum(amount // tier.size for amount in free)
    if wanted is not None and wanted.endswith("%"):
        wanted = str(_slots_of_rate(goal, wanted, sum(free), tier.size))
    target = _left(goal, wishes, wanted, now, ideal, "slots")
    written: str | int = int(size) if size.isdigit() else size
    return _objective(
        Metric.FRAGMENT_RATE,
        resource=resource,
        size=written,
        device_class=device_class,
        target=target,
    )


def _slot_tier(goal: _Goal, resource: str, size: str, device_class: str | None) -> Tier:
    instance = goal.instance
    if resource not in instance.resources:
        names = [name for name in instance.resources if name != "pods"]
        raise goal.fail(quote(resource), one_of(names), did_you_mean(resource, names))
    classes = sorted({d.device_class for node in instance.nodes for d in node.devices})
    if device_class is not None and device_class not in classes:
        expected = one_of(classes) if classes else "none: the nodes have no devices"
        raise goal.fail(quote(device_class), expected, did_you_mean(device_class, classes))
    try:
        amount = to_base(resource, size)
    except ValueError as error:
        raise goal.fail(quote(size), f"a size; this is {error}") from None
    if amount == 0:
        raise goal.fail(size, "more than nothing")
    index = instance.resources.index(resource)
    return Tier(
        Metric.FRAGMENT_RATE, "slots", resource=index, size=amount, device_class=device_class
    )


def _slots_of_rate(goal: _Goal, text: str, free: int, size: int) -> int:
    """Fewest slots that leave at most P percent of what is free outside of slots."""
    number = text.removesuffix("%")
    if not re.fullmatch(r"\d{1,3}(\.\d{1,6})?", number) or Fraction(number) > 100:
        raise goal.fail(quote(text), "a rate from 0% to 100%")
    inside = (1 - Fraction(number) / 100) * free
    return -(-inside.numerator // (inside.denominator * size))


def _stranded_gpus(goal: _Goal, wishes: Wishes) -> Objective:
    if goal.rest is None:
        return _objective(Metric.STRANDED_GPUS)
    try:
        amount = parse_quantity(goal.rest)
    except ValueError:
        raise goal.fail(quote(goal.rest), "a number of GPUs, such as 2, 0.5 or 500m") from None
    if amount < 0:
        raise goal.fail(quote(goal.rest), "0 or more")
    written: str | int = int(goal.rest) if goal.rest.isdigit() else goal.rest
    return _objective(Metric.STRANDED_GPUS, target=written)


def _fit(goal: _Goal, wishes: Wishes) -> Objective:
    patterns = [pattern.strip() for pattern in (goal.rest or "").split(",")]
    for pattern in patterns:
        named = [job for job in goal.jobs if pattern and asked_for(job, [pattern])]
        if not any(_waits(job) for job in named):
            found = f"{quote(pattern)}, which runs already" if named else quote(pattern)
            waiting = [f"{job.namespace}/{job.name}" for job in goal.jobs if _waits(job)]
            expected = "the name of a pending job, or a pattern"
            raise goal.fail(found, expected, did_you_mean(pattern, waiting))
    wishes.fit = tuple(dict.fromkeys((*wishes.fit, *patterns)))
    return _objective(Metric.UNPLACED, by="priority", unit="job", target=0)


def _waits(job: Job) -> bool:
    placed = sum(place.count for podset in job.pod_sets for place in podset.assignments)
    return sum(podset.count for podset in job.pod_sets) > placed


_READERS: dict[str, Callable[[_Goal, Wishes], Objective]] = {
    "empty-nodes": _empty_nodes,
    "empty-domain": _empty_domain,
    "fragment-rate": _fragment_rate,
    "stranded-gpus": _stranded_gpus,
    "fit": _fit,
}
