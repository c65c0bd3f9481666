"""Topology levels of a cluster, coarse to fine, from whichever source describes them.

Kueue and KAI list levels from coarse to fine; Volcano's tier 1 and topograph's tier-0 are the
tightest, so their order is turned around.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.queue_trees import upwards
from kantopt.formats.notes import Notes
from kantopt.formats.view import View
from kantopt.schema.snapshot import HOSTNAME, NODE_NAME, Node, Topology, TopologyLevel

HYPERNODE_LABEL = "topology.volcano.sh/tier-"
"""Label that stands for a node's HyperNode of a tier; HyperNodes themselves set no labels."""

SINGLE_NODES = {HOSTNAME: "hostname", NODE_NAME: "node"}
"""Levels of which a node is a domain, by what stands for their label."""
_LAYERS = "networkTopologySpec"
"""What lists the layers of a network of Koordinator's."""
_COARSE = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")
_FINE = (
    "topology.kubernetes.io/block",
    "topology.kubernetes.io/rack",
    "cloud.provider.com/topology-block",
    "cloud.provider.com/topology-rack",
    "accelerator.topograph.run/domain",
    "accelerator.topograph.run/sub-domain",
    "nvidia.com/gpu.clique",
)
_NETWORK = "network.topology.nvidia.com/"
_SWITCHES = tuple(
    f"{_NETWORK}{name}" for name in ("datacenter", "core", "spine", "block", "leaf", "accelerator")
)
"""Of topograph: two names for each tier of switches, by version, and the NVLink domain."""
_PLACES = {"rack", "block", "row", "leaf", "spine", "switch", "superpod", "island", "segment"}
"""Words in a label's name that say that nodes are near each other."""
_TIER = re.compile(r"fabric\.topograph\.run/tier-(\d{1,2})")


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels found; ``tiers`` gives the level of each of Volcano's tiers or tier names."""

    topology: Topology
    tiers: dict[int | str, str] = field(default_factory=dict)
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    """Labels to add, by node."""
    aliases: dict[str, str] = field(default_factory=dict)

    def tier(self, highest: int | str) -> str | None:
        """Return the level of Volcano's highest tier; of one that is skipped, the next tighter.

        Empty above all tiers, where any place will do; ``None`` if no HyperNode is that tight.
        """
        if not isinstance(highest, int):
            return self.tiers.get(highest)
        found = sorted(tier for tier in self.tiers if isinstance(tier, int))
        if found and highest > found[-1]:
            return ""
        return next((self.tiers[tier] for tier in reversed(found) if tier <= highest), None)

    def name(self, level: str) -> str | None:
        """Return the name of a level given by name, alias or node label."""
        level = self.aliases.get(level, level)
        for item in self.topology.levels:
            if level in (item.name, item.node_label):
                return item.name
        return None


def find_levels(objects: Objects, nodes: Sequence[Node], chosen: Sequence[str]) -> Levels:
    """Find the topology: the labels chosen, else Topology objects, HyperNodes, known labels.

    A ClusterNetworkTopology of Koordinator's counts as a Topology. Labels that native PodGroups
    name are levels besides, where they nest with the others.

    Parameters
    ----------
    objects
        All objects of the input.
    nodes
        The nodes, whose labels decide between several topologies.
    chosen
        Node labels from coarse to fine that the user names instead.
    """
    asked = {
        key: None
        for view in objects.of("scheduling.k8s.io", "PodGroup")
        for key in label_keys(view.at("spec"))
    }
    levels = _described(objects, nodes, chosen, asked)
    for label in asked:
        levels = _with_label(levels, label, nodes)
    return levels


def _described(
    objects: Objects, nodes: Sequence[Node], chosen: Sequence[str], asked: Collection[str]
) -> Levels:
    notes = objects.notes
    if chosen:
        return _levels([(label, "") for label in chosen])
    offers = [
        _topology_object(view)
        for group in ("kueue.x-k8s.io", "kai.scheduler")
        for view in objects.of(group, "Topology")
    ]
    offers += [
        _layers(view, notes)
        for view in objects.of("scheduling.koordinator.sh", "ClusterNetworkTopology")
    ]
    offers = [offer for offer in offers if offer]
    if offers:
        # Several pools may have a topology each; one tree must do, so take the widest.
        best = max(offers, key=lambda offer: sum(_has_all(offer, node) for node in nodes))
        for offer in offers:
            if [label for label, _ in offer] != [label for label, _ in best]:
                notes.add("topologies beside the one of most nodes are left out", offer[0][0])
        return _levels(best)
    hyper = objects.named("topology.volcano.sh", "HyperNode")
    if hyper:
        found = _hypernodes(hyper, nodes)
        if found is not None:
            return found
        notes.add(
            "HyperNodes that do not form a tree over the nodes are left out", count=len(hyper)
        )
    return _levels([(label, "") for label in _known(nodes, asked, notes)])


def label_keys(spec: View) -> tuple[str, ...]:
    """Return the node labels of each of which one domain is to hold a native PodGroup."""
    constraints = spec.at("schedulingConstraints").list("topology")
    return tuple(item.name("key") for item in constraints)


def _with_label(levels: Levels, label: str, nodes: Sequence[Node]) -> Levels:
    """Add a node label as a level, if that takes no node out of any domain, nor parts one."""
    if label == HOSTNAME or levels.name(label) is not None:
        return levels
    borne = {node.name: {**node.labels, **levels.labels.get(node.name, {})} for node in nodes}

    def domains(path: Sequence[str]) -> set[frozenset[str]]:
        found = defaultdict(set)
        for name, own in borne.items():
            place = tuple(own.get(key) or (name if key == HOSTNAME else "") for key in path)
            if all(place):
                found[place].add(name)
        return {frozenset(members) for members in found.values()}

    known = levels.topology.levels
    old = [level.node_label for level in known]
    whole = domains([label])
    finest = old.index(HOSTNAME) if HOSTNAME in old else len(old)
    for i in range(finest, -1, -1) if whole else ():
        new = [*old[:i], label, *old[i:]]
        finer = range(i + 1, len(new))
        if domains(new[: i + 1]) == whole and all(
            domains(new[: k + 1]) == domains(old[:k]) for k in finer
        ):
            name = _short(label)
            taken = any(name == level.name for level in known)
            added = TopologyLevel(name=label if taken else name, node_label=label)
            return replace(levels, topology=Topology(levels=(*known[:i], added, *known[i:])))
    return levels


def with_nodes(levels: Levels, label: str) -> Levels:
    """Add the node itself as the finest level, by its hostname or whatever its labels are.

    A hostname lies within the domains above it: a node that is in none of these has none.
    """
    if levels.name(label) is not None:
        return levels
    known, name = levels.topology, SINGLE_NODES[label]
    taken = any(name == level.name for level in known.levels)
    added = TopologyLevel(name=label if taken else name, node_label=label)
    last = [level for level in known.levels if level not in known.labelled]
    return replace(levels, topology=Topology(levels=(*known.labelled, added, *last)))


def note_outside(levels: Levels, nodes: Sequence[Node], notes: Notes) -> None:
    """Say which nodes are in no domain, each under the coarsest level that it lacks."""
    wanted = [level for level in levels.topology.levels if level.node_label not in SINGLE_NODES]
    for node in nodes:
        lacks = next((level for level in wanted if not node.labels.get(level.node_label)), None)
        if lacks is not None:
            text = "they take no job that requires one or a finer level"
            notes.add(f"nodes that are in no {lacks.name}: {text}", node.name)


def _levels(pairs: Sequence[tuple[str, str]]) -> Levels:
    """Name levels after the end of their labels, or by alias."""
    taken: dict[str, str] = {}
    aliases = {}
    for label, alias in dict(pairs).items():
        name = alias or _short(label)
        taken[label if name in taken else name] = label
        if alias:
            aliases[alias] = label
    levels = tuple(TopologyLevel(name=name, node_label=label) for name, label in taken.items())
    return Levels(Topology(levels=levels), aliases=aliases)


def _short(label: str) -> str:
    return label.rpartition("/")[2].removeprefix("topology-") or label


def _topology_object(view: View) -> list[tuple[str, str]]:
    levels = view.at("spec").list("levels")
    return [(level.name("nodeLabel") or "?", level.text("alias")) for level in levels]


def _layers(view: View, notes: Notes) -> list[tuple[str, str]]:
    """Read the layers of Koordinator's network, the outermost first, without the nodes below."""
    layers = {item.text("topologyLayer"): item for item in view.at("spec").list(_LAYERS)}
    parents = {name: item.text("parentTopologyLayer") for name, item in layers.items()}
    found = []
    for name in sorted(layers, key=lambda name: len([*upwards(name, parents)])):
        keys = layers[name].strings("labelKey")
        if len(keys) > 1:
            notes.add("layers of several labels have the first of them", name)
        if keys:
            found.append((keys[0], name))
    return found


def _has_all(offer: Sequence[tuple[str, str]], node: Node) -> bool:
    return all(label in node.labels or label == HOSTNAME for label, _ in offer)


def _known(nodes: Sequence[Node], asked: Collection[str], notes: Notes) -> list[str]:
    """Well-known labels that nodes bear, coarse to fine.

    A coarse label that a node lacks would take the node out of all finer domains; guessing must
    not do that, so such a label is left out.
    """
    present = {label for node in nodes for label in node.labels}
    tiers = sorted(
        (label for label in present if _TIER.fullmatch(label)),
        key=lambda label: -int(label.rpartition("-")[2]),
    )
    kept: list[str] = []
    inside: set[str] = set()
    for label in reversed([*_COARSE, *tiers, *_SWITCHES, *_FINE]):
        if label not in present:
            continue
        members = {node.name for node in nodes if node.labels.get(label)}
        if inside <= members:
            kept.insert(0, label)
            inside |= members
        else:
            notes.add("labels that only some nodes bear are no topology level", label)
    known = {*_COARSE, *_FINE, *_SWITCHES, *tiers, *asked}
    for label in sorted(present - known):
        if _PLACES & set(re.split(r"[^a-z]+", label.rpartition("/")[2].lower())):
            notes.add("labels that look like a topology are no level without --topology", label)
    return kept


def _hypernodes(views: Mapping[str, View], nodes: Sequence[Node]) -> Levels | None:
    """Turn a tree of HyperNodes into labels; ``None`` if a node has two of one tier."""
    by_name = {name: view.at("spec") for name, view in views.items()}
    tier_of = {name: spec.integer("tier", 0, 100) or 0 for name, spec in by_name.items()}
    parents: dict[str, list[str]] = {}
    of_node: dict[str, list[str]] = {}
    for name, spec in by_name.items():
        for member in spec.list("members"):
            is_node = member.text("type", "Node") == "Node"
            candidates = [node.name for node in nodes] if is_node else list(by_name)
            chosen = _members(member.at("selector"), candidates, nodes if is_node else ())
            for child in chosen:
                (of_node if is_node else parents).setdefault(child, []).append(name)
    labels: dict[str, dict[str, str]] = {}
    tiers = sorted(set(tier_of.values()), reverse=True)
    for node in nodes:
        found: dict[int, str] = {}
        pending = list(of_node.get(node.name, ()))
        while pending:
            name = pending.pop()
            if found.setdefault(tier_of[name], name) != name:
                return None
            pending.extend(p for p in parents.get(name, ()) if tier_of[p] > tier_of[name])
        # A tier allows tighter ones: the topmost of these stands for one that a node lacks.
        within = {
            tier: max((t for t in found if t <= tier), default=None) for tier in reversed(tiers)
        }
        labels[node.name] = {
            f"{HYPERNODE_LABEL}{tier}": found[own]
            for tier, own in within.items()
            if own is not None
        }
    levels = _levels([(f"{HYPERNODE_LABEL}{tier}", "") for tier in tiers])
    names: dict[int | str, str] = {tier: f"tier-{tier}" for tier in tiers}
    for name, spec in by_name.items():
        if spec.text("tierName"):
            names[spec.text("tierName")] = f"tier-{tier_of[name]}"
    return Levels(levels.topology, names, labels)


def _members(selector: View, names: Sequence[str], nodes: Sequence[Node]) -> list[str]:
    if "exactMatch" in selector:
        return [name for name in names if name == selector.at("exactMatch").text("name")]
    if "regexMatch" in selector:
        # RE2, as in Volcano: no pattern takes more time than is linear in the text.
        import re2

        options = re2.Options()
        options.log_errors = False
        try:
            pattern = re2.compile(selector.at("regexMatch").text("pattern"), options)
        except re2.error as error:
            why = error.args[0].decode(errors="replace")
            selector.at("regexMatch").problem("pattern", "a regular expression", why)
            return []
        return [name for name in names if pattern.search(name)]
    wanted = selector.at("labelMatch").words("matchLabels")
    return [
        node.name
        for node in nodes
        if wanted and all(node.labels.get(key) == value for key, value in wanted.items())
    ]
