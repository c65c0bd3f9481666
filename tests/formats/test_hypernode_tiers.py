"""Volcano's highest tier: what is tighter will do too, and HyperNodes may skip tiers."""

from __future__ import annotations

import pytest

from kantopt.formats.exports import EXPORTS
from kantopt.formats.imported import Imported
from kantopt.formats.kubernetes.objects import flatten
from kantopt.schema.yaml.text import parse_yaml
from tests.formats.cluster_objects import Object, node, noted, pod, read, thing
from tests.formats.test_import_rules import hypernode


def gang(highest: int) -> list[Object]:
    """A job of one pod whose domain is no wider than of a tier."""
    network = {"mode": "hard", "highestTierAllowed": highest}
    version = "scheduling.volcano.sh/v1beta1"
    group = thing(version, "PodGroup", "g", minMember=1, networkTopology=network)
    return [group, pod("p", annotations={"scheduling.k8s.io/group-name": "g"})]


SKIPS = [
    *(node(name) for name in "abcd"),
    hypernode("s0", 1, "Node", "a"),
    hypernode("s1", 1, "Node", "b"),
    hypernode("sp", 2, "HyperNode", "s0"),
    hypernode("core", 4, "HyperNode", "sp", "s1"),
    hypernode("wide", 4, "Node", "c"),
]
"""A tree without tier 3: one leaf is below no spine, one node is in none, and one in nothing."""


def required(imported: Imported) -> str | None:
    request = imported.pending.jobs[0].topology_request
    return None if request is None else request.required


@pytest.mark.parametrize(
    ("highest", "level"),
    [(1, "tier-1"), (2, "tier-2"), (3, "tier-2"), (4, "tier-4"), (5, None)],
)
def test_a_tier_that_is_skipped_means_the_next_tighter_one(highest: int, level: str | None) -> None:
    imported = read(*SKIPS, *gang(highest))
    assert required(imported) == level
    assert not any("network tiers" in line for line in imported.notes)


def test_where_no_tier_is_that_tight_it_is_left_out_with_a_word() -> None:
    tree = [node("a"), hypernode("sp", 2, "Node", "a")]
    assert "tier 1" in noted(read(*tree, *gang(1)), "network tiers")


def domains(imported: Imported) -> dict[str, list[str | None]]:
    labels = [level.node_label for level in imported.snapshot.topology.levels]
    return {item.name: [item.labels.get(key) for key in labels] for item in imported.snapshot.nodes}


TREE = {
    "a": ["core", "sp", "s0"],
    "b": ["core", "s1", "s1"],
    "c": ["wide", None, None],
    "d": [None, None, None],
}


def test_a_node_without_a_hypernode_of_a_tier_takes_its_topmost_tighter_one() -> None:
    imported = read(*SKIPS)
    assert domains(imported) == TREE
    assert noted(imported, "in no tier-4").endswith("a finer level: 1 (d)")
    assert noted(imported, "in no tier-2").endswith("a finer level: 1 (c)")


def test_a_hypernode_that_stands_for_others_is_written_once() -> None:
    text, _ = EXPORTS["volcano"].write(read(*SKIPS).snapshot, ())
    again = read(*flatten(parse_yaml(text, "list")[0]))
    assert domains(again) == TREE
