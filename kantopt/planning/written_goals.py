"""Goals as they are written on a command line, turned into objectives of a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any

from kantopt.errors import BadDataError, Problem, UsageError
from kantopt.problem.chosen import asked_for
from kantopt.problem.counted import counted, counted_domains, counted_nodes
from kantopt.problem.instance import Instance
from kantopt.problem.misnamed import Names
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.base import SELECTOR
from kantopt.schema.hints import did_you_mean, meant_or_some, one_of, perhaps, quote
from kantopt.schema.jobs import Job
from kantopt.schema.model import Metric, Objective
from kantopt.schema.objectives import ClusterObjective
from kantopt.schema.quantity import from_base, parse_quantity, resource_called, to_base
from kantopt.verify.metrics import MEASURES
from kantopt.verify.metrics.fragment_rate import free_amounts, slots_now, slots_offered
from kantopt.verify.step import Step

FORMS = (
    "empty-nodes[=N]",
    "empty-domain=LEVEL[:N]",
    "fragment-rate=RESOURCE:SIZE[/CLASS][:N]",
    "stranded-gpus[=X]",
    "fit=JOB[,JOB...]",
    "drain=NODE[,NODE...]",
)
"""How goals are written; N slots also as a rate, P%, and any N as +N: more than there are now.

Behind a comma may stand which nodes count: ``selector=KEY[=VALUE]``, ``class=RESOURCE``.
"""

_DRAIN = "drain="

_WHICH = re.compile(r",(selector|class)=")
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
        main, *which = _WHICH.split(text)
        name, given, rest = main.partition("=")
        if name not in _READERS:
            expected = f"{one_of(FORMS)}{perhaps(name, _READERS)}"
            raise UsageError(f"--goal: found {quote(text)}, expected {expected}")
        nodes = _nodes(name, text, which)
        if "class" in nodes:
            nodes["class"] = resource_called(nodes["class"], instance.offered)
        goal = _Goal(text, rest if given else None, nodes, instance, jobs)
        objective = _READERS[name](goal, wishes)
        if _alike(objective) in map(_alike, wishes.objectives):
            if name in ("fit", "drain"):
                continue
            raise UsageError(f"--goal: found {quote(text)} twice, expected each goal once")
        wishes.objectives.append(objective)
    return wishes


def _alike(objective: Objective) -> dict[str, Any]:
    """What tells goals apart: of two beyond all that there is no plan can tell which is which."""
    return {
        name: value.model_copy(update={"beyond": 0})
        if isinstance(value, ClusterObjective)
        else value
        for name, value in objective
    }


def _nodes(name: str, text: str, which: Sequence[str]) -> dict[str, str]:
    """Return which nodes count, by the names of an objective's parameters."""
    known: dict[str, tuple[str, ...]]
    known = {"empty-nodes": ("selector", "class"), "empty-domain": ("selector", "class")}
    known |= {"fragment-rate": ("selector",), "stranded-gpus": ("selector",)}
    found = dict(zip(which[::2], which[1::2], strict=True))
    for option, value in found.items():
        if option not in known.get(name, ()):
            raise UsageError(f"--goal {text}: found {option}, which {name} does not take")
        if not SELECTOR.fullmatch(value) or (option == "class" and "=" in value):
            expected = "a label, KEY=VALUE or KEY" if option == "selector" else "a name"
            raise UsageError(f"--goal {text}: found {quote(value)}, expected {expected}")
    if 2 * len(found) < len(which):
        raise UsageError(f"--goal {text}: found {which[0]} twice, expected it once")
    return found


@dataclass(frozen=True, slots=True)
class _Goal:
    text: str
    rest: str | None
    nodes: Mapping[str, str]
    instance: Instance
    jobs: Sequence[Job]

    def fail(self, found: str, expected: str) -> UsageError:
        return UsageError(f"--goal {self.text}: found {found}, expected {expected}")

    def unknown(self, found: str, expected: str, hint: str = "") -> BadDataError:
        return BadDataError([Problem(f"--goal {self.text}", "", found, expected, hint)])

    def known(self, objective: Objective) -> Objective:
        """Return an objective all of whose names the cluster has."""
        instance = self.instance
        names = Names(instance.nodes, instance.topology, instance.offered)
        problems = list(names.check(objective, f"--goal {self.text}"))
        if problems:
            raise BadDataError(problems)
        return objective

    def tier(self, objective: Objective) -> Tier:
        """Return the tier of a goal without its target."""
        model = self.instance.model.model_copy(update={"objectives": (self.known(objective),)})
        return tiers_of(replace(self.instance, model=model))[0]

    def number(self, text: str, now: int) -> int:
        """Read N or +N."""
        if not re.fullmatch(r"\+?\d{1,9}", text):
            nine = " of at most nine digits" if text.removeprefix("+").isdigit() else ""
            raise self.fail(quote(text), f"a whole number{nine}, or +N for N more than there are")
        return now + int(text) if text.startswith("+") else int(text)

    def step(self) -> Step:
        return Step(self.instance, self.instance.current, self.instance.current)


def _left(
    goal: _Goal, wishes: Wishes, text: str | None, now: int, most: int, what: str
) -> dict[str, int]:
    """Target of a metric that counts what is left of ``most`` where so many are wanted."""
    if text is None:
        return {}
    wanted = goal.number(text, now)
    if wanted > most:
        text = (
            f"goal {goal.text}: {wanted} {what} are more than all that there is; planned for {most}"
        )
        takes_class = goal.text.startswith("empty-") and "class" not in goal.nodes
        selector = goal.nodes.get("selector", "")
        if not most and takes_class and counted_nodes(goal.instance, selector, "cpu"):
            text += "; nodes without GPUs count with class=cpu"
        wishes.beyond.append(text)
        return {"target": 0, "beyond": wanted - most}
    return {"target": most - wanted}


def _objective(metric: Metric, **parameters: Any) -> Objective:
    given = {name: value for name, value in parameters.items() if value is not None}
    return Objective.model_validate({metric.value: given})


def _empty_nodes(goal: _Goal, wishes: Wishes) -> Objective:
    metric = Metric.NODES_IN_USE
    tier = goal.tier(_objective(metric, **goal.nodes))
    most = len(counted(goal.instance, tier))
    now = most - MEASURES[metric](tier, goal.step())
    target = _left(goal, wishes, goal.rest, now, most, "empty nodes")
    return _objective(metric, **target, **goal.nodes)


def _empty_domain(goal: _Goal, wishes: Wishes) -> Objective:
    metric = Metric.DOMAINS_IN_USE
    level, _, number = (goal.rest or "").rpartition(":")
    if not level:  # labels of nodes have no colon, but a number has to be told from a level
        level, number = goal.rest or "", ""
    tier = goal.tier(_objective(metric, level=level, **goal.nodes))
    most = len(counted_domains(goal.instance, tier))
    now = most - MEASURES[metric](tier, goal.step())
    target = _left(goal, wishes, number or None, now, most, f"empty domains of {level}")
    return _objective(metric, level=level, **target, **goal.nodes)


def _fragment_rate(goal: _Goal, wishes: Wishes) -> Objective:
    match = _SLOT.fullmatch(goal.rest or "")
    if match is None:
        raise goal.fail(quote(goal.rest or ""), "RESOURCE:SIZE[/CLASS][:N], such as cpu:16/numa:40")
    resource, size, device_class, wanted = match.groups()
    resource = resource_called(resource, goal.instance.offered)
    try:
        amount = to_base(resource, size)
    except ValueError as error:
        raise goal.fail(quote(size), f"a size; this is {error}") from None
    if amount == 0:
        raise goal.fail(size, "more than nothing")
    slot = {
        "resource": resource,
        "size": int(size) if size.isdigit() else size,
        "device_class": device_class,
        "of": "capacity",  # what is free differs by plan where pods come to nodes that count
        **goal.nodes,
    }
    tier = goal.tier(_objective(Metric.FRAGMENT_RATE, **slot))
    largest = _largest(goal.instance, tier)
    if 0 < largest < tier.size:
        what = f"{device_class} has" if device_class else "node has"
        most = f"at most {from_base(resource, largest)}, as much as any {what}"
        raise goal.unknown(f"a slot of {size} {resource}", most)
    loads = goal.step().loads
    if wanted is not None and wanted.endswith("%"):
        free = sum(free_amounts(tier, loads))
        wanted = str(_slots_of_rate(goal, wanted, free, tier.size))
    offered = slots_offered(tier, goal.instance)
    target = _left(goal, wishes, wanted, slots_now(tier, loads), offered, "slots")
    return _objective(Metric.FRAGMENT_RATE, **slot, **target)


def _largest(instance: Instance, tier: Tier) -> int:
    """Most of a slot's resource on any node, or any device of its class, open or not."""
    r, name = tier.resource, tier.device_class
    assert r is not None, "a slot has a resource"
    if name is None:
        return max((node.capacity[r] or 0 for node in instance.nodes), default=0)
    devices = (node.devices[d] for node in instance.nodes for d in node.devices_of(name))
    return max((device.capacity[r] for device in devices), default=0)


def _slots_of_rate(goal: _Goal, text: str, free: int, size: int) -> int:
    """Fewest slots that leave at most P percent of what is free now outside of slots."""
    number = text.removesuffix("%")
    if not re.fullmatch(r"\d{1,3}(\.\d{1,6})?", number) or Fraction(number) > 100:
        raise goal.fail(quote(text), "a rate from 0% to 100%")
    inside = (1 - Fraction(number) / 100) * free
    return -(-inside.numerator // (inside.denominator * size))


def _stranded_gpus(goal: _Goal, wishes: Wishes) -> Objective:
    goal.known(_objective(Metric.STRANDED_GPUS, target=0, **goal.nodes))
    if goal.rest is None:
        return _objective(Metric.STRANDED_GPUS, **goal.nodes)
    try:
        amount = parse_quantity(goal.rest)
    except ValueError:
        raise goal.fail(quote(goal.rest), "a number of GPUs, such as 2, 0.5 or 500m") from None
    if amount < 0:
        raise goal.fail(quote(goal.rest), "0 or more")
    written: str | int = int(goal.rest) if goal.rest.isdigit() else goal.rest
    return _objective(Metric.STRANDED_GPUS, target=written, **goal.nodes)


def _fit(goal: _Goal, wishes: Wishes) -> Objective:
    patterns = [pattern.strip() for pattern in (goal.rest or "").split(",")]
    for pattern in patterns:
        named = [job for job in goal.jobs if pattern and asked_for(job, [pattern])]
        if not any(job.waiting for job in named):
            found = f"{quote(pattern)}, which runs already" if named else quote(pattern)
            waiting = [job.full_name for job in goal.jobs if job.waiting]
            expected = "the name of a pending job, or a pattern"
            raise goal.unknown(found, expected, did_you_mean(pattern, waiting))
    wishes.fit = tuple(dict.fromkeys((*wishes.fit, *patterns)))
    return _objective(Metric.UNPLACED, by="priority", unit="job", target=0)


def drained(goals: Sequence[str], nodes: Sequence[str]) -> tuple[str, ...]:
    """Return the nodes that goals say are to be emptied, by name or pattern.

    Raises
    ------
    BadDataError
        If there is no such node.
    """
    found: list[str] = []
    for text in goals:
        if not text.startswith(_DRAIN):
            continue
        for pattern in text.removeprefix(_DRAIN).split(","):
            named = [name for name in nodes if fnmatchcase(name, pattern.strip())]
            if not named:
                expected = "the name of a node, or a pattern"
                hint = meant_or_some(pattern, nodes, "nodes")
                raise BadDataError([Problem("drain", "", quote(pattern), expected, hint)])
            found += named
    return tuple(dict.fromkeys(found))


def _drain(goal: _Goal, wishes: Wishes) -> Objective:
    if not goal.rest:
        raise goal.fail("no node", "drain=NODE[,NODE...]")
    return _objective(Metric.UNDRAINED, target=0)


_READERS: dict[str, Callable[[_Goal, Wishes], Objective]] = {
    "empty-nodes": _empty_nodes,
    "empty-domain": _empty_domain,
    "fragment-rate": _fragment_rate,
    "stranded-gpus": _stranded_gpus,
    "fit": _fit,
    "drain": _drain,
}
