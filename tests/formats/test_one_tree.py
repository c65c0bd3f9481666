"""One tree of machines as each system describes it: the topology that is read is the same."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kantopt.formats.imported import Imported
from kantopt.formats.slurm.cluster import import_slurm
from kantopt.schema.files import parse_documents
from kantopt.schema.snapshot import ClusterSnapshot
from tests.formats.cluster_objects import Object, node, noted, read, thing

TREE = {
    "n1": ("s1", "l1", "a1"),
    "n2": ("s1", "l1", "a2"),
    "n3": ("s1", "l2", "a3"),
    "n4": ("s2", "l3", "a4"),
    "n5": ("s2", "l3", "a4"),
}
"""Nodes with what they lie in, coarse to fine."""


def nodes(*labels: str) -> list[Object]:
    """The machines, with a label for each level."""
    return [node(name, dict(zip(labels, path, strict=True))) for name, path in TREE.items()]


def levels(group: str, *labels: str) -> Object:
    return thing(group, "Topology", "t", "", levels=[{"nodeLabel": label} for label in labels])


def hypernodes() -> list[Object]:
    """The tree by membership: tier 1 is the tightest."""
    members: dict[tuple[int, str], set[tuple[str, str]]] = {}
    for name, (spine, leaf, rack) in TREE.items():
        for tier, above, kind, below in (
            (1, rack, "Node", name),
            (2, leaf, "HyperNode", rack),
            (3, spine, "HyperNode", leaf),
        ):
            members.setdefault((tier, above), set()).add((kind, below))
    return [
        thing(
            "topology.volcano.sh/v1alpha1",
            "HyperNode",
            name,
            "",
            tier=tier,
            members=[
                {"type": kind, "selector": {"exactMatch": {"name": below}}}
                for kind, below in sorted(inside)
            ],
        )
        for (tier, name), inside in members.items()
    ]


def switches() -> dict[str, tuple[list[str], list[str]]]:
    """The tree by switches: nodes and switches below each; the lowest first."""
    below: dict[str, tuple[set[str], set[str]]] = {}
    for name, (spine, leaf, rack) in TREE.items():
        for switch, kind, part in ((rack, 0, name), (leaf, 1, rack), (spine, 1, leaf)):
            below.setdefault(switch, (set(), set()))[kind].add(part)
    order = sorted(below, key=lambda name: ("als".index(name[0]), name))
    return {name: (sorted(below[name][0]), sorted(below[name][1])) for name in order}


def slurm(topology: str) -> Imported:
    """Read the machines as Slurm shows them, with a topology."""
    text = "".join(f"NodeName={name} CPUTot=8 RealMemory=1000 State=IDLE\n\n" for name in TREE)
    raws = [
        raw
        for label, each in (("nodes", text), ("topology", topology))
        for raw in parse_documents(each.encode(), label)
    ]
    return import_slurm(raws)


def conf_lines(shown: bool) -> str:
    """Lines of topology.conf, or of what ``scontrol show topology`` prints."""
    lines = []
    for name, (hosts, parts) in switches().items():
        inside = hosts or sorted(host for host, path in TREE.items() if name in path)
        level = f" Level={'als'.index(name[0])} LinkSpeed=1" if shown else ""
        told = f" Nodes={','.join(inside)}" if hosts or shown else ""
        told += f" Switches={','.join(parts)}" if parts else ""
        lines.append(f"SwitchName={name}{level}{told}\n")
    return "".join(lines)


def topology_yaml() -> str:
    """The tree as topology.yaml of 25.05 has it."""
    text = "- topology: default\n  cluster_default: true\n  tree:\n    switches:\n"
    for name, (hosts, parts) in switches().items():
        key, inside = ("nodes", hosts) if hosts else ("children", parts)
        text += f"    - switch: {name}\n      {key}: {','.join(inside)}\n"
    return text


def domains(snapshot: ClusterSnapshot) -> Mapping[str, tuple[str, ...]]:
    """Each node's path, coarse to fine, whatever the levels are called."""
    keys = [level.node_label for level in snapshot.topology.levels]
    return {item.name: tuple(item.labels[key] for key in keys) for item in snapshot.nodes}


OWN = ("example.org/spine", "example.org/leaf", "example.org/rack")
NETWORK = tuple(f"network.topology.nvidia.com/{name}" for name in ("spine", "leaf", "accelerator"))
OLDER = tuple(
    f"network.topology.nvidia.com/{name}" for name in ("datacenter", "block", "accelerator")
)
FABRIC = tuple(f"fabric.topograph.run/tier-{number}" for number in (2, 1, 0))
SYSTEMS = {
    "kueue v1beta1": [*nodes(*OWN), levels("kueue.x-k8s.io/v1beta1", *OWN)],
    "kueue v1beta2": [*nodes(*OWN), levels("kueue.x-k8s.io/v1beta2", *OWN)],
    "kai": [*nodes(*OWN), levels("kai.scheduler/v1alpha1", *OWN)],
    "volcano": [*nodes(*OWN), *hypernodes()],
    "topograph tiers": nodes(*FABRIC),
    "topograph switches": nodes(*NETWORK),
    "topograph blocks": nodes(*OLDER),
}
SLURM = {
    "topology.conf": conf_lines(shown=False),
    "scontrol show topology": conf_lines(shown=True),
    "topology.yaml": topology_yaml(),
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_one_tree_is_one_topology_whoever_describes_it(system: str) -> None:
    assert domains(read(*SYSTEMS[system]).snapshot) == TREE


def test_of_labels_alone_those_that_are_named_are_the_topology() -> None:
    assert domains(read(*nodes(*OWN), levels=OWN).snapshot) == TREE


@pytest.mark.parametrize("form", SLURM)
def test_the_tree_of_slurm_is_the_same_in_all_its_forms(form: str) -> None:
    assert domains(slurm(SLURM[form]).snapshot) == TREE


def test_a_version_that_is_not_known_is_read_and_named() -> None:
    imported = read(*nodes(*OWN), levels("kueue.x-k8s.io/v9", *OWN))
    assert domains(imported.snapshot) == TREE
    assert "Topology" in noted(imported, "kueue.x-k8s.io/v9")


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_versions_that_are_known_are_not_spoken_of(version: str) -> None:
    imported = read(*nodes(*OWN), levels(f"kueue.x-k8s.io/{version}", *OWN))
    assert not [line for line in imported.notes if "version" in line]


def test_a_kind_of_another_group_is_not_taken_for_one_that_is_read() -> None:
    imported = read(*nodes(*OWN), levels("example.org/v1", *OWN))
    assert imported.snapshot.topology.levels == ()
    assert "Topology" in noted(imported, "no use for")


def test_what_is_not_read_is_spoken_of_by_what_is_lost() -> None:
    imported = read(
        *nodes(*OWN),
        thing("scheduling.sigs.k8s.io/v1alpha1", "ElasticQuota", "q"),
        thing("scheduling.k8s.io/v1beta1", "CompositePodGroup", "g"),
    )
    assert "(ElasticQuota)" in noted(imported, "limit nobody")
    assert "(CompositePodGroup)" in noted(imported, "starts by itself")
