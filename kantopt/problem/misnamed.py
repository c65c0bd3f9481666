"""What objectives name and the cluster does not have: levels, resources, classes, labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kantopt.errors import Problem
from kantopt.problem.cluster import Node, Topology
from kantopt.problem.restricted import ANY_GPU
from kantopt.schema.hints import did_you_mean, one_of, quote
from kantopt.schema.model import Objective
from kantopt.schema.objectives import (
    AmountObjective,
    BalanceObjective,
    ClassObjective,
    DomainsObjective,
    FragmentObjective,
    GroupsObjective,
)

_Tell = Callable[..., Problem]


class Names:
    """All that an objective could name of a cluster."""

    def __init__(self, nodes: Sequence[Node], topology: Topology, resources: Sequence[str]) -> None:
        self._nodes, self._resources = nodes, resources
        self._levels = list(dict.fromkeys((*topology.levels, *topology.labels)))
        self._own = [r for i, r in enumerate(resources) if any(n.capacity[i] for n in nodes)]
        self._own = [name for name in self._own if name != "pods"]
        devices = [device for node in nodes for device in node.devices]
        self._classes = sorted({device.device_class for device in devices})
        self._on = {
            cls: [
                r
                for i, r in enumerate(resources)
                if any(d.capacity[i] for d in devices if d.device_class == cls)
            ]
            for cls in self._classes
        }
        self._gpus = any(node.gpu_milli for node in nodes)

    def check(self, objective: Objective, file: str, path: str = "") -> Iterator[Problem]:
        """Find the names in an objective that stand for nothing, in a file at a path."""
        parameters = getattr(objective, objective.name)
        where = f"{path}.{objective.name}" if path else ""

        def problem(field: str, found: str, known: Sequence[str], expected: str = "") -> Problem:
            place = f"{where}.{field}" if path else ""
            hint = did_you_mean(found, known)
            listed = one_of(known) or "nothing: the input has none"
            return Problem(file, place, quote(found), expected or listed, hint)

        if isinstance(parameters, DomainsObjective | GroupsObjective):
            level = parameters.level
            if level is not None and level not in self._levels:
                yield problem("level", level, self._levels)
        if isinstance(parameters, FragmentObjective):
            yield from self._slot(parameters, problem)
        elif isinstance(parameters, ClassObjective) and parameters.offers is not None:
            of_devices = (r for on in self._on.values() for r in on)
            known = list(dict.fromkeys((*self._own, *self._classes, *of_devices)))
            known += [ANY_GPU] if self._gpus and ANY_GPU not in known else []
            if parameters.offers not in known:
                yield problem("class", parameters.offers, known)
        selector = getattr(parameters, "selector", None)
        if selector is not None and (unknown := self.unknown_label(selector)):
            yield problem("selector", *unknown)
        if isinstance(parameters, BalanceObjective):
            for i, name in enumerate(parameters.resources or ()):
                if name not in self._own:
                    yield problem(f"resources[{i}]", name, self._own)
        about_gpus = objective.name in ("stranded_gpus", "fragmented_nodes", "allocation")
        if about_gpus and parameters.target is not None and not self._gpus:
            expected = "a goal about what the nodes have: none has GPUs"
            yield Problem(file, where, objective.name, expected)
        if isinstance(parameters, AmountObjective) and parameters.target is not None:
            fields = {"cost": ("price",), "energy": ("idle_power", "power_per_gpu")}
            if not any(getattr(n, f) for n in self._nodes for f in fields[objective.name]):
                expected = "a goal about what the nodes have: none has such a field"
                yield Problem(file, where, objective.name, expected)

    def unknown_label(self, selector: str) -> tuple[str, Sequence[str], str] | None:
        """Return what no node has of ``KEY=VALUE`` or ``KEY``, what they have, in words."""
        key, given, value = selector.partition("=")
        labels = sorted({label for node in self._nodes for label in node.labels})
        values = sorted({n.labels[key] for n in self._nodes if key in n.labels})
        if key not in labels:
            return key, labels, "a label that nodes have"
        return (value, values, "") if given and value not in values else None

    def _slot(self, slot: FragmentObjective, problem: _Tell) -> Iterator[Problem]:
        """A slot must be of something that nodes themselves offer, or the devices of its class."""
        if slot.device_class is not None and slot.device_class not in self._classes:
            yield problem("device_class", slot.device_class, self._classes)
            return
        known = self._own if slot.device_class is None else self._on[slot.device_class]
        if slot.resource in known:
            return
        on = [cls for cls in self._classes if slot.resource in self._on[cls]]
        if slot.device_class is None and on:
            expected = f"{slot.resource}:{slot.size}/{on[0]}: devices offer it, no node by itself"
            yield problem("resource", slot.resource, (), expected)
        elif slot.resource in self._own:
            expected = f"{slot.resource}:{slot.size}: nodes offer it, no {slot.device_class} does"
            yield problem("resource", slot.resource, (), expected)
        else:
            yield problem("resource", slot.resource, known)
