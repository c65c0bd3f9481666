"""Kueue's flavors: which nodes each of them means, and which of them a pod may be given."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from kantopt.formats.kubernetes.nodes import narrowed, read_taints, read_tolerations
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod
from kantopt.schema.base import Expression, Toleration
from kantopt.schema.eligibility import tolerates
from kantopt.schema.jobs import NodeSelectorTerm
from kantopt.schema.selection import expression_matches
from kantopt.schema.snapshot import Taint


@dataclass(frozen=True, slots=True)
class Flavor:
    """Nodes with some labels, and what their pods are given to tolerate."""

    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    """Only pods that tolerate these are given the flavor."""
    tolerations: tuple[Toleration, ...] = ()
    topology: bool | None = None
    """Whether Kueue itself finds the places of pods there, if that is known."""

    def suits(self, pod: Pod, keys: Collection[str]) -> bool:
        """Whether what a pod itself says of nodes leaves it these, as far as flavors tell.

        Kueue looks at the ``keys`` of all flavors among which it chooses: one without such a label
        is none for who asks for it.
        """
        shape = pod.shape
        terms: Sequence[NodeSelectorTerm] = shape["node_affinity"]
        selector: Mapping[str, str] = shape["node_selector"]
        borne = (*shape["tolerations"], *self.tolerations)
        return (
            all(self.labels.get(key) == selector[key] for key in selector if key in keys)
            and (not terms or any(self._admitted_by(term, keys) for term in terms))
            and all(tolerates(borne, taint) for taint in self.taints)
        )

    def _admitted_by(self, term: NodeSelectorTerm, keys: Collection[str]) -> bool:
        return all(
            expression_matches(item, self.labels)
            for item in term.match_expressions
            if item.key in keys
        )


class Flavors:
    """Flavors by name; one that is not in the input means all nodes."""

    def __init__(self, objects: Objects) -> None:
        self._known: dict[str, Flavor] = {}
        self._notes = objects.notes
        for view in objects.of("kueue.x-k8s.io", "ResourceFlavor"):
            spec = view.at("spec")
            self._known[view.at("metadata").name()] = Flavor(
                dict(sorted(spec.words("nodeLabels").items())),
                read_taints(spec, "nodeTaints"),
                read_tolerations(spec, objects.notes),
                bool(spec.text("topologyName")),
            )

    def get(self, name: str) -> Flavor:
        """Return a flavor."""
        if name not in self._known:
            self._known[name] = Flavor()
            self._notes.add("flavors that are not in the input mean all nodes", name)
        return self._known[name]

    def topology(self, names: Iterable[str]) -> frozenset[bool | None]:
        """Return whether Kueue itself finds the places in flavors, each answer once."""
        return frozenset(self._known.get(name, Flavor()).topology for name in names)

    def suiting(self, pod: Pod, names: Collection[str]) -> list[str]:
        """Return which of the flavors among which Kueue chooses a pod may be given."""
        keys = {key for name in names for key in self.get(name).labels}
        return [name for name in names if self.get(name).suits(pod, keys)]

    def label(self, name: str, others: Collection[str]) -> str | None:
        """Return a label, KEY=VALUE, that a flavor has and none of the others, if there is one."""
        own = self.get(name).labels.items()
        away = [self.get(other).labels.items() for other in others if other != name]
        return next(
            (f"{key}={value}" for key, value in own if all((key, value) not in a for a in away)),
            None,
        )


def onto_nodes(pod: Pod, flavors: Sequence[Flavor]) -> Pod:
    """Keep a pod to the nodes of one of some flavors, with what these have it tolerate."""
    shape = dict(pod.shape)
    extra = [t for flavor in flavors for t in flavor.tolerations if t not in shape["tolerations"]]
    shape["tolerations"] = (*shape["tolerations"], *dict.fromkeys(extra))
    selector: dict[str, str] = shape["node_selector"]
    if len(flavors) == 1 and all(selector.get(k, v) == v for k, v in flavors[0].labels.items()):
        shape["node_selector"] = dict(sorted({**selector, **flavors[0].labels}.items()))
    elif all(flavor.labels for flavor in flavors):
        apart = [narrowed(shape["node_affinity"], _labelled(flavor)) for flavor in flavors]
        shape["node_affinity"] = tuple(chain.from_iterable(zip(*apart, strict=True)))
    return replace(pod, shape=shape)


def _labelled(flavor: Flavor) -> tuple[Expression, ...]:
    return tuple(
        Expression(key=key, operator="In", values=(value,)) for key, value in flavor.labels.items()
    )
