"""E-Binpack by hand: few nodes, few groups, what is whole stays whole; and two levels at random."""

from __future__ import annotations

import random

import numpy as np
import pytest

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.search.insertion.domains import Domains
from kantopt.search.insertion.fill import room_for
from kantopt.search.insertion.groups import Groups
from kantopt.search.insertion.zones import placer_of
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from tests.search.helpers import built, where
from tests.verify.world import Document, job, node, pods, question


def gpus(name: str, rack: str, count: int = 8) -> Document:
    return node(name, cpu=128, gpu=count, rack=rack)


def takes(name: str, taken: int) -> Document:
    """A job that has some GPUs of a node."""
    return job(f"on-{name}", pods(gpu=taken, on=[name]))


def goes(instance: Instance, name: str = "j") -> dict[str, int]:
    return where(instance, built(instance, Strategy.E_BINPACK), name)


def test_a_small_job_breaks_into_no_whole_node_though_its_rack_is_fuller() -> None:
    """Rack 1 has one node left, a whole one; in rack 2 more is free, and broken into already."""
    nodes = [gpus("a1", "b/1"), gpus("a2", "b/1"), gpus("b1", "b/2"), gpus("b2", "b/2")]
    jobs = [takes("a1", 8), takes("b1", 3), takes("b2", 3), job("j", pods(gpu=1))]
    assert goes(question(nodes, jobs)) == {"b1": 1}


def test_a_small_job_breaks_into_no_whole_node_though_a_smaller_one_is_left() -> None:
    nodes = [gpus("small", "b/1", 4), gpus("large", "b/1", 8)]
    assert goes(question(nodes, [takes("large", 2), job("j", pods(gpu=1))])) == {"large": 1}


def test_a_job_that_takes_the_last_gpus_of_a_node_goes_there() -> None:
    """Rack 1 is fuller; in rack 2 nothing would be left on the node."""
    nodes = [gpus("a1", "b/1"), gpus("a2", "b/1"), gpus("b1", "b/2"), gpus("b2", "b/2")]
    jobs = [takes("a1", 8), takes("a2", 5), takes("b1", 6), job("j", pods(gpu=2))]
    assert goes(question(nodes, jobs)) == {"b1": 1}


def test_whole_nodes_come_from_a_rack_in_use_though_an_empty_one_is_smaller() -> None:
    nodes = [gpus("a1", "b/1"), *(gpus(f"b{i}", "b/2") for i in range(4))]
    assert goes(question(nodes, [takes("b0", 1), job("j", pods(gpu=8))])) == {"b1": 1}


def test_replicas_take_the_rack_where_fewer_nodes_hold_them() -> None:
    """Eight GPUs: halves of two nodes of rack 1, which is fuller, or one node of rack 2."""
    nodes = [gpus("a1", "b/1"), gpus("a2", "b/1"), gpus("b1", "b/2"), gpus("b2", "b/2")]
    jobs = [takes("a1", 4), takes("a2", 4), takes("b1", 2), job("j", pods(count=4, gpu=2))]
    assert goes(question(nodes, jobs)) == {"b2": 4}


def test_the_last_replicas_fill_a_node_in_use() -> None:
    """Twelve GPUs: a whole node and the half of another that is taken by half."""
    nodes = [gpus("a1", "b/1"), gpus("a2", "b/1"), gpus("a3", "b/1")]
    jobs = [takes("a3", 4), job("j", pods(count=6, gpu=2))]
    assert goes(question(nodes, jobs)) == {"a1": 4, "a3": 2}


def test_of_two_racks_the_one_whose_broken_node_takes_the_rest() -> None:
    nodes = [gpus(f"a{i}", "b/1") for i in range(2)] + [gpus(f"b{i}", "b/2") for i in range(3)]
    jobs = [takes("b2", 4), job("j", pods(count=6, gpu=2))]
    assert goes(question(nodes, jobs)) == {"b0": 4, "b2": 2}


def test_an_elastic_job_begins_in_the_rack_where_all_of_it_has_room() -> None:
    """The one pod that it needs would fill a node of rack 1, and all others would be in rack 2."""
    nodes = [gpus("a1", "b/1"), gpus("b1", "b/2"), gpus("b2", "b/2")]
    jobs = [takes("a1", 7), takes("b1", 2), job("j", pods(count=4, minCount=1, gpu=1))]
    assert goes(question(nodes, jobs)) == {"b1": 4}


def test_an_elastic_job_that_no_rack_holds_begins_where_its_minimum_is_best() -> None:
    nodes = [gpus("a1", "b/1"), gpus("b1", "b/2")]
    jobs = [takes("a1", 7), takes("b1", 2), job("j", pods(count=7, minCount=1, gpu=1))]
    assert goes(question(nodes, jobs)) == {"a1": 1, "b1": 6}


def test_a_job_too_large_for_a_rack_uses_as_few_racks_as_possible() -> None:
    nodes = [gpus(f"{r}{i}", f"b/{r}") for r in "123" for i in range(2)]
    jobs = [takes("11", 1), job("j", pods(count=3, gpu=8))]
    assert goes(question(nodes, jobs)) == {"10": 1, "20": 1, "21": 1}


def test_roles_of_a_job_share_rack_and_node() -> None:
    """By itself the leader would go where least is left, to rack 2."""
    nodes = [gpus("a1", "b/1"), gpus("a2", "b/1"), gpus("b1", "b/2")]
    roles = [pods("worker", count=3, gpu=4), pods("leader", gpu=1)]
    instance = question(nodes, [takes("b1", 7), job("j", *roles)])
    placement = built(instance, Strategy.E_BINPACK)
    assert where(instance, placement, "j/worker") == {"a1": 2, "a2": 1}
    assert where(instance, placement, "j/leader") == {"a2": 1}


def test_members_above_the_minimum_come_where_the_others_are() -> None:
    nodes = [gpus("a1", "b/1"), gpus("a2", "b/1"), gpus("b1", "b/2")]
    grows = job("j", pods(count=2, minCount=1, gpu=4, on=["a1"]))
    assert goes(question(nodes, [takes("b1", 4), grows]), "j+") == {"a1": 1}


def test_within_a_preferred_block_racks_are_few() -> None:
    """Block x holds the job in one rack; in the order of nodes it would be two."""
    nodes = [gpus("x1", "x/1", 4), gpus("x2", "x/2", 4), gpus("x3", "x/2", 4), gpus("y", "y/1", 4)]
    close = {"preferred": "block"}
    jobs = [takes("y", 1), job("j", pods(count=2, gpu=4, topologyRequest=close))]
    assert goes(question(nodes, jobs)) == {"x2": 1, "x3": 1}


def test_a_pod_without_gpus_keeps_off_racks_with_gpus() -> None:
    nodes = [gpus("a1", "b/1"), gpus("a2", "b/1"), node("c", cpu=8, rack="b/2")]
    assert goes(question(nodes, [takes("a1", 4), job("j", pods(count=4, cpu=2))])) == {"c": 4}


def test_gpus_that_no_cpu_is_left_for_do_not_count() -> None:
    """Rack 1 would be the cheapest by its GPUs, but the cores of its node are taken."""
    nodes = [gpus("a1", "b/1"), gpus("b1", "b/2"), gpus("c1", "b/3")]
    greedy = job("r", pods(gpu=5, cpu=127, on=["a1"]))
    jobs = [greedy, takes("b1", 4), job("j", pods(gpu=1, cpu=4))]
    assert goes(question(nodes, jobs)) == {"b1": 1}


def test_only_the_pool_of_its_gpus_counts_for_a_job() -> None:
    """Both racks have both kinds; of h200 rack 2 has a node in use, rack 1 is fuller in all."""
    nodes = [
        node(f"{kind}{r}", cpu=64, gpu=8, rack=f"b/{r}", labels={"gpu": kind})
        for r in (1, 2)
        for kind in ("a100", "h200")
    ]
    jobs = [
        takes("a1001", 8),
        takes("h2002", 2),
        job("j", pods(gpu=4, nodeSelector={"gpu": "h200"})),
    ]
    assert goes(question(nodes, jobs)) == {"h2002": 1}


def plain_choice(state: State, domains: Domains, s: int, count: int) -> set[int]:
    """Racks that are best for some pods, by a plain reading of what counts; none holds them all."""
    found: dict[tuple[int, ...], set[int]] = {}
    room = room_for(state, s, count)
    left, offered = state.gpus_left(), state.gpu_weight @ state.offered
    for g in range(len(state.instance.topology.domains[1])):
        nodes = np.flatnonzero(domains.of[1] == g).tolist()
        if sum(room[n] for n in nodes) < count:
            continue
        rest, needed = count, 0
        for n in sorted(nodes, key=lambda n: -room[n]):
            if rest > 0:
                last, needed = rest, needed + 1
                rest -= int(room[n])
        broken = max((int(room[n]) for n in nodes if left[n] < offered[n]), default=0)
        asked = count * state.instance.podsets[s].gpu_milli
        fills = any(left[n] == asked < offered[n] and room[n] >= count for n in nodes)
        gpus_left = sum(int(left[n]) for n in nodes)
        whole = gpus_left == sum(int(offered[n]) for n in nodes)
        loose = needed == 1 and not fills
        found.setdefault((needed, broken < last, loose, whole, gpus_left), set()).add(g)
    return found[min(found)] if found else set()


@pytest.mark.parametrize("seed", range(6))
def test_the_rack_chosen_by_tables_is_the_one_that_a_look_at_all_nodes_finds(seed: int) -> None:
    """Pods come and go, ask for more or less CPU, and places are undone, some hundred times."""
    rng = random.Random(seed)
    nodes = [
        node(
            f"n{i}", cpu=rng.choice((12, 24, 48)), gpu=rng.choice((4, 8)), rack=f"b{i % 2}/{i % 9}"
        )
        for i in range(36)
    ]
    jobs = [
        job(
            f"j{i}", pods(count=rng.randint(1, 9), cpu=rng.randint(1, 8), gpu=rng.choice((1, 2, 4)))
        )
        for i in range(40)
    ]
    instance = question(nodes, jobs)
    state, domains = State(instance), Domains(instance)
    groups = Groups(state, domains, 1)
    marks, chosen = [state.mark()], 0
    for _ in range(300):
        s = rng.randrange(len(jobs))
        count = rng.randint(1, instance.podsets[s].count)
        shares = groups.shares(s, count, None, ())
        best = plain_choice(state, domains, s, count)
        if best:
            assert len(shares) == 1
            assert shares[0][0] in best
            chosen += 1
        else:
            room = domains.totals(1, room_for(state, s, count))
            assert all(share <= room[g] for g, share in shares)
            assert sum(share for _, share in shares) == min(count, int(room.sum()))
        if rng.random() < 0.2:
            state.undo(rng.choice(marks))
            marks = [mark for mark in marks if mark <= state.mark()]
        room = room_for(state, s, 9)
        if room.any():
            n = int(rng.choice(np.flatnonzero(room).tolist()))
            state.add(s, Spot(n), 1)
            marks.append(state.mark())
    assert chosen > 50


def test_a_node_that_opens_again_counts_for_its_rack() -> None:
    """Rack 1 is in use and takes the job; not while its node with room is closed."""
    nodes = [gpus("a1", "b/1"), gpus("a2", "b/1"), gpus("b1", "b/2")]
    jobs = [takes("a1", 8), takes("a2", 4), *(job(f"j{i}", pods(gpu=1)) for i in range(3))]
    instance = question(nodes, jobs)
    state = State(instance)
    placer = placer_of(state, Strategy.E_BINPACK)
    found = []
    for i, closed in enumerate((False, True, False)):
        state.close(instance.node_index["a2"], closed)
        assert placer.place(instance.job_index[f"default/j{i}"])
        found.append(where(instance, state.placement(), f"j{i}"))
    assert found == [{"a2": 1}, {"b1": 1}, {"a2": 1}]
