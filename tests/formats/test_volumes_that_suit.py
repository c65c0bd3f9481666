"""Claims that wait for volumes that are there: which may be used where, and which is taken."""

from __future__ import annotations

import pytest

from tests.formats.cluster_objects import Object, pod
from tests.formats.test_free_volumes import (
    HOST,
    claim,
    nodes,
    open_nodes,
    storage_class,
    user,
    volume,
)
from tests.formats.test_volumes import ZONE


def _named(operator: str, *names: str) -> Object:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": [*names]}]}


IN_Z1: Object = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z1"]}]}


@pytest.mark.parametrize(
    ("terms", "where"),
    [
        ([_named("In", "a")], "a b c"),
        ([_named("NotIn", "a")], "a b c"),
        ([{**_named("In", "c"), **IN_Z1}], "a b"),
        ([_named("In", "c"), IN_Z1], "a b c"),
        ([_named("In", "c", "d"), IN_Z1], "a b"),  # does not parse, and matches nothing
    ],
)
@pytest.mark.parametrize("bound", [False, True])
def test_the_names_of_nodes_in_the_affinity_of_a_volume_do_not_matter(
    terms: list[Object], where: str, bound: bool
) -> None:
    """kube-scheduler asks it of the labels of a node alone."""
    there = volume("v", nodeAffinity={"required": {"nodeSelectorTerms": terms}})
    asked = claim("c", volumeName="v") if bound else claim("c")
    if bound:
        asked["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    assert open_nodes(*nodes(), storage_class(), user("p", "c"), asked, there) == where


def test_a_claim_that_is_two_volumes_of_its_pod_needs_a_volume_for_each() -> None:
    twice = [{"name": n, "persistentVolumeClaim": {"claimName": "c"}} for n in ("v", "w")]
    dump = [*nodes(), storage_class(), claim("c"), pod("p", volumes=twice), volume("v", HOST, "a")]
    assert open_nodes(*dump) == ""
    assert open_nodes(*dump, volume("w", HOST, "a")) == "a"


SSD = {"selector": {"matchLabels": {"tier": "ssd"}}}


@pytest.mark.parametrize(
    ("small", "large", "ssd", "other", "where"),
    [
        # The smaller claim comes first, and takes the smallest volume: the only one of its like.
        ({}, SSD, "6Gi", "8Gi", "left out"),
        ({}, SSD, "8Gi", "8Gi", "left out"),
        ({}, SSD, "8Gi", "6Gi", "b"),
        (SSD, {}, "6Gi", "8Gi", "b"),
        ({}, {}, "6Gi", "8Gi", "b"),
    ],
)
def test_a_pod_whose_claims_may_take_volumes_from_each_other_is_left_out(
    small: Object, large: Object, ssd: str, other: str, where: str
) -> None:
    there = [
        volume("v", HOST, "b", size=ssd, labels={"tier": "ssd"}),
        volume("w", HOST, "b", size=other),
    ]
    claims = [claim("c1", "5Gi", **small), claim("c2", "6Gi", **large)]
    assert open_nodes(*nodes(), storage_class(), user("p", "c1", "c2"), *there, *claims) == where


def test_claims_of_one_size_take_volumes_from_each_other_in_any_order() -> None:
    there = [
        volume("v", HOST, "b", labels={"tier": "ssd"}),
        volume("w", HOST, "b", size="20Gi"),
    ]
    for names in (("c1", "c2"), ("c2", "c1")):
        claims = [claim("c1"), claim("c2", **SSD)]
        dump = [*nodes(), storage_class(), user("p", *names), *there, *claims]
        assert open_nodes(*dump) == "left out"
