"""What is ruled out only as plans are stricter than kube-scheduler is told apart."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.planning.plan import Result, make_plan
from kantopt.planning.question import question_of
from kantopt.planning.solving.options import Options
from kantopt.report.headline import quality
from kantopt.schema.extends import load_model
from kantopt.schema.model import Limits
from kantopt.schema.raw import RawDocument
from tests.formats.cluster_objects import Object, node, pod

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
LABELS = {"app": "web"}
SPREAD: dict[str, Any] = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": LABELS},
        }
    ]
}
NEAR: dict[str, Any] = {
    "affinity": {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": HOST, "labelSelector": {"matchLabels": LABELS}}
            ]
        }
    }
}


def required(one: Object, other: Object, *room: str) -> Result:
    """Both are required, in this order, and nobody may be disturbed."""
    nodes = [
        node(name, {ZONE: f"z{name}", HOST: name}, cpu=cpu)
        for name, cpu in zip("ab", room, strict=True)
    ]
    pods = [
        pod(name, labels=LABELS, owner=f"ReplicaSet/{name}", **spec)
        for name, spec in (("web", one), ("canary", other))
    ]
    dump = {"apiVersion": "v1", "kind": "List", "items": [*nodes, *pods]}
    names = ("default/web", "default/canary")
    limits = Limits(evictions=0, moves=0)
    model = load_model("mixed").model_copy(update={"required": names, "limits": limits})
    question = question_of([RawDocument("dump.json", 0, dump)])
    return make_plan(question, model, Options(workers=1), Deadline.within(20))


@pytest.mark.parametrize(
    ("one", "other", "room", "rules"),
    [
        (SPREAD, {}, ("4", "0"), ("spread",)),  # web comes first, canary then where it likes
        (NEAR, {}, ("1", "1"), ("affinity",)),
        (SPREAD, SPREAD, ("4", "0"), ()),  # the second would exceed the skew in any order
        (NEAR, NEAR, ("1", "1"), ()),
        ({}, {}, ("1", "0"), ()),
    ],
)
def test_infeasible_names_rules_that_pods_in_some_order_would_keep(
    one: Object, other: Object, room: tuple[str, str], rules: tuple[str, ...]
) -> None:
    plan = required(one, other, *room).plan
    assert plan.solver.status == "INFEASIBLE"
    assert plan.solver.stricter == rules
    words = f", with {rules[0]} stricter than kube-scheduler's" if rules else ""
    assert f"provably has no place{words}; " in quality(plan).text
    assert any(f"provably has no place{words} (" in warning for warning in plan.warnings)


def test_of_a_plan_that_places_what_is_required_nothing_is_said() -> None:
    plan = required(SPREAD, {}, "4", "4").plan
    assert (plan.solver.status, plan.solver.stricter) == ("OPTIMAL", ())
