"""Whether a job could be placed if nothing else ran: what every rule says about that, alone."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.derived.focus import focused
from kantopt.schema.model import Rule
from kantopt.schema.rule_kinds import About, rules_about
from kantopt.search.explain.decide import on_empty
from tests.generate import without
from tests.verify.world import HOST, job, node, pods, question

NODES = [node(f"n{i}", rack=f"b/{i // 2}") for i in range(4)]
DEVICES = [{"class": "numa", "count": 2, "capacity": {"cpu": 2}}]
ITSELF = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"job": "j"}}}
EVENLY = {
    "topologyKey": "rack",
    "maxSkew": 1,
    "minDomains": 3,
    "labelSelector": {"matchLabels": {"job": "j"}},
}
BY_THREE = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 3}
PLANTED: dict[Rule, Any] = {
    Rule.CAPACITY: pods(cpu=5),
    Rule.DEVICES: pods(cpu=0, devices=[{"class": "numa", "requests": {"cpu": 3}}]),
    Rule.ELIGIBILITY: pods(nodeSelector={"pool": "none"}),
    Rule.TOPOLOGY: pods(count=3, cpu=4, topologyRequest={"required": "rack"}),
    Rule.SLICES: pods(count=3, cpu=4, topologyRequest=BY_THREE),
    Rule.ANTI_AFFINITY: pods(count=5, podAntiAffinity=[ITSELF]),
    Rule.SPREAD: pods(count=4, topologySpreadConstraints=[EVENLY]),
}
"""Pods that have no place on the nodes by one rule alone."""
EXCUSED = {
    **dict.fromkeys((Rule.GANG, Rule.REQUIRED), "each asks for all pods of whoever is to come"),
    Rule.QUOTA: "left aside: the question is about the hardware",
    Rule.AFFINITY: "left aside: pods to be near need not run",
    **dict.fromkeys(rules_about(About.CHANGES), "about pods that run, and none do"),
}


def test_of_every_rule_there_is_a_question_or_a_reason_why_there_is_none() -> None:
    missing = sorted(set(Rule) - set(PLANTED) - set(EXCUSED))
    assert not missing, f"no job planted that has no place by it, and no excuse: {missing}"


@pytest.mark.parametrize("rule", PLANTED)
def test_a_job_has_no_place_on_an_empty_cluster_by_one_rule_alone(rule: Rule) -> None:
    nodes = [{**each, "devices": DEVICES} for each in NODES] if rule is Rule.DEVICES else NODES
    asked = focused(question(nodes, [job("j", PLANTED[rule])]), 0)
    assert on_empty(asked, 0, Deadline(None)).impossible
    assert not on_empty(without(asked, rule), 0, Deadline(None)).impossible
