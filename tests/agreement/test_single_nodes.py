"""Pods that share one node, whatever labels it lacks: judge, encoding and search take the same."""

from __future__ import annotations

import random
from collections.abc import Sequence

from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.schema.jobs import Job, TopologyRequest
from kantopt.schema.model import Rule
from kantopt.schema.snapshot import NODE_NAME, Topology, TopologyLevel
from kantopt.search.strategy import Strategy
from kantopt.verify.rules import check
from tests.agreement.test_encoding import Encodings
from tests.generate import random_documents, without
from tests.oracle import best
from tests.placements import random_placement
from tests.search.helpers import built
from tests.solved import agrees


def on_single_nodes(seed: int) -> Instance:
    """Ask for single nodes for some pods of a random question, for slices or for all of them."""
    rng = random.Random(seed)
    snapshot, jobs, model = random_documents(seed)
    last = TopologyLevel(name="node", node_label=NODE_NAME)
    topology = Topology(levels=(*snapshot.topology.levels, last))
    nodes = [
        node.model_copy(update={"labels": {} if rng.random() < 0.4 else node.labels})
        for node in snapshot.nodes
    ]

    def tied(items: Sequence[Job]) -> tuple[Job, ...]:
        found = []
        for item in items:
            if item.topology_request is None and rng.random() < 0.6:
                sets = [
                    podset.model_copy(update={"topology_request": wish(podset.count)})
                    for podset in item.pod_sets
                ]
                item = item.model_copy(update={"pod_sets": tuple(sets)})
            found.append(item)
        return tuple(found)

    def wish(count: int) -> TopologyRequest:
        preferred = rng.choice((None, "block", "rack"))
        size = rng.choice([k for k in (1, 2, 3) if count % k == 0])
        if rng.random() < 0.3:
            return TopologyRequest(
                required=rng.choice((None, "block")),
                preferred=preferred,
                pod_set_slice_required_topology="node",
                pod_set_slice_size=size,
            )
        return TopologyRequest(required="node", preferred=preferred)

    update = {"topology": topology, "nodes": tuple(nodes), "jobs": tied(snapshot.jobs)}
    return build_instance(snapshot.model_copy(update=update), tied(jobs.jobs), model)


def test_search_proves_what_brute_force_finds_where_pods_share_a_node() -> None:
    mattered = 0
    for seed in range(60):
        instance = on_single_nodes(seed)
        for strategy in (Strategy.E_BINPACK, Strategy.BEST_FIT):
            built(instance, strategy)
        expected = agrees(instance, f"seed {seed}")
        if expected is not None:
            mattered += best(without(instance, Rule.TOPOLOGY))[0] != expected
    assert mattered >= 10


def test_encoding_and_judge_agree_where_pods_share_a_node() -> None:
    legal = illegal = 0
    for seed in range(60):
        instance, rng = on_single_nodes(seed), random.Random(seed)
        encodings = Encodings(instance)
        for _ in range(10):
            placement = random_placement(rng, instance)
            for rule in (Rule.TOPOLOGY, Rule.SLICES):
                sound = not check(instance, placement, [rule])
                assert encodings.admit(placement, rule) is sound, f"seed {seed}, {rule}"
                legal, illegal = legal + sound, illegal + (not sound)
    assert min(legal, illegal) > 50
