"""The order of actions: every state on the way is legal, or there is no order."""

from __future__ import annotations

import pytest

from kantopt.problem.actions import Wave
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.search.order import sequence as sequences
from kantopt.search.order.sequence import sequence
from kantopt.search.order.units import Unit
from kantopt.search.strategy import Strategy
from kantopt.verify.replay import replay
from kantopt.verify.waves.order import Order
from tests.campaign import some
from tests.generate import random_instance
from tests.oracle import best
from tests.search.helpers import built
from tests.verify.world import Document, job, node, placed, pods, put, question


def told(waves: tuple[Wave, ...] | None) -> list[list[str]]:
    """Ids of the actions, wave by wave."""
    assert waves is not None
    assert [wave.after for wave in waves] == [(), *((w.id,) for w in waves[:-1])][: len(waves)]
    return [[action.id for action in wave.actions] for wave in waves]


def test_nothing_to_do_takes_no_wave() -> None:
    instance = question([node("a")], [job("j")])
    assert sequence(instance, instance.current) == ()


def test_an_eviction_comes_before_the_bind_that_needs_its_room() -> None:
    jobs = [job("r", pods(cpu=4, on=["a"])), job("j", pods(cpu=4), priority=9)]
    instance = question([node("a")], jobs)
    assert told(sequence(instance, placed(instance, r=[], j=["a"]))) == [["e1"], ["b1"]]


def test_a_bind_waits_for_the_eviction_that_is_for_it_though_there_be_room_before() -> None:
    jobs = [
        job("r", pods(cpu=2, on=["a"])),
        job("j", pods(cpu=2), priority=9),
        job("k", pods(cpu=2), priority=8),
    ]
    instance = question([node("a")], jobs)
    placement = placed(instance, r=[], j=["a"], k=["a"])
    waves = sequence(instance, placement)
    assert waves is not None
    assert not replay(instance, waves)[0]
    order = Order(waves)
    at = {action.podset: p for p, wave in enumerate(waves) for action in wave.actions}
    job_of = {podset.index: instance.job_of(podset.index).name for podset in instance.podsets}
    where = {job_of[s]: p for s, p in at.items()}
    assert order.precedes(where["default/r"], where["default/k"])
    assert not order.precedes(where["default/r"], where["default/j"]), "what is free is the first's"


def test_with_no_time_left_evictions_are_tried_last_and_where_they_stand() -> None:
    """Who restarts takes what little is left before somebody goes, and who moves live has none."""
    jobs = [
        job("v", pods(cpu=3, on=["a"])),
        job("r", pods(cpu=2, on=["b"]), priority=1),
        job("s", pods(cpu=1, on=["a"])),
        job("m", pods(cpu=2, on=["b"]), priority=1, moveMode="live"),
        job("j", pods(cpu=2), priority=2),
    ]
    instance = question([node("a"), node("b")], jobs)
    target = placed(instance, v=[], r=["a"], s=["b"], m=["a"], j=["b"])
    assert sequence(instance, target, over=lambda: True) is not None


def test_with_no_time_left_it_is_not_asked_for_whom_victims_go_where_all_is_stuck(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Instance] = []

    def after_evictions(instance: Instance, *_: object) -> list[Unit]:
        asked.append(instance)
        return []

    monkeypatch.setattr(sequences, "after_evictions", after_evictions)
    jobs = swap("live", job("v", pods(cpu=4, on=["c"])), job("j", pods(cpu=4), priority=9))
    instance = question([node(n) for n in "abc"], jobs)
    circle = placed(instance, r=["b"], s=["a"], v=[], j=["c"])
    assert sequence(instance, circle, over=lambda: True) is None
    assert not asked
    sequence(instance, circle)
    assert asked


def test_binds_alone_share_one_wave_a_gang_all_the_more() -> None:
    jobs = [job("g", pods(count=3)), job("j")]
    instance = question([node("a"), node("b")], jobs)
    waves = sequence(instance, placed(instance, g=["a", "a", "b"], j=["b"]))
    assert told(waves) == [["b1", "b2", "b3"]]
    assert waves is not None
    assert [a.pods for a in waves[0].actions] == [2, 1, 1]


def test_a_move_makes_room_for_a_bind() -> None:
    jobs = [job("r", pods(cpu=2, on=["a"])), job("j", pods(cpu=4))]
    instance = question([node("a"), node("b", cpu=2)], jobs)
    waves = sequence(instance, placed(instance, r=["b"], j=["a"]))
    assert told(waves) == [["m1"], ["b1"]], "only what restarts too may take a restart's room"


def test_a_live_move_gives_its_room_up_only_when_it_is_done() -> None:
    jobs = [job("r", pods(cpu=2, on=["a"]), moveMode="live"), job("j", pods(cpu=4))]
    instance = question([node("a"), node("b", cpu=2)], jobs)
    assert told(sequence(instance, placed(instance, r=["b"], j=["a"]))) == [["m1"], ["b1"]]


def swap(mode: str, *more: Document) -> list[Document]:
    return [
        *(job(name, pods(cpu=4, on=[on]), moveMode=mode) for name, on in (("r", "a"), ("s", "b"))),
        *more,
    ]


def test_restarts_change_places_in_one_wave() -> None:
    instance = question([node("a"), node("b")], swap("restart"))
    assert told(sequence(instance, placed(instance, r=["b"], s=["a"]))) == [["m1", "m2"]]


def test_live_moves_in_a_circle_have_no_order() -> None:
    instance = question([node("a"), node("b")], swap("live"))
    assert sequence(instance, placed(instance, r=["b"], s=["a"])) is None


def test_live_moves_in_a_row_go_one_after_the_other() -> None:
    jobs = swap("live")
    instance = question([node("a"), node("b"), node("c")], jobs)
    waves = sequence(instance, placed(instance, r=["b"], s=["c"]))
    assert told(waves) == [["m1"], ["m2"]]
    assert waves is not None
    assert waves[0].actions[0].podset == 1


def test_a_budget_of_one_spreads_restarts_over_waves() -> None:
    jobs = [job("r", pods(count=3, minCount=0, on=["a"] * 3))]
    selector = {"matchLabels": {"job": "r"}}
    budgets = [{"name": "pdb", "selector": selector, "disruptionsAllowed": 1}]
    instance = question([node("a"), node("b")], jobs, podDisruptionBudgets=budgets)
    waves = sequence(instance, placed(instance, r=["b"] * 3))
    assert told(waves) == [["m1"], ["m2"], ["m3"]]


def test_an_eviction_waits_if_its_budget_is_needed_for_a_restart_first() -> None:
    """An eviction never gives its slot back; the restart does, so it goes first."""
    jobs = [
        job("r", pods("p", minCount=0, on=["a"]), pods("q", minCount=0, on=["a"])),
        job("j", pods(cpu=4), priority=9),
    ]
    selector = {"matchLabels": {"job": "r"}}
    budgets = [{"name": "pdb", "selector": selector, "disruptionsAllowed": 1}]
    instance = question([node("a"), node("b")], jobs, podDisruptionBudgets=budgets)
    target = put(instance, {"r/p": [], "r/q": ["b"], "j": ["a"]})
    assert told(sequence(instance, target)) == [["m1"], ["e1"], ["b1"]]


def test_a_gang_moves_to_another_required_domain_all_at_once() -> None:
    ask = {"required": "rack"}
    nodes = [node("a", rack="b/1"), node("b", rack="b/2")]
    instance = question(nodes, [job("g", pods(count=2, on=["a", "a"], topologyRequest=ask))])
    waves = sequence(instance, placed(instance, g=["b", "b"]))
    assert told(waves) == [["m1"]]
    assert waves is not None
    assert waves[0].actions[0].pods == 2


def test_within_its_required_domain_each_pod_of_a_gang_moves_by_itself() -> None:
    nodes = [node("a", rack="b/1"), node("b", rack="b/1"), node("c", rack="b/2")]
    labels = {"labels": {"job": "g"}, "topologyRequest": {"required": "rack"}}
    budget = {"name": "pdb", "selector": {"matchLabels": labels["labels"]}, "disruptionsAllowed": 1}
    instance = question(
        nodes, [job("g", pods(count=2, on=["a", "a"], **labels))], podDisruptionBudgets=[budget]
    )
    assert told(sequence(instance, placed(instance, g=["b", "b"]))) == [["m1"], ["m2"]]
    assert sequence(instance, placed(instance, g=["c", "c"])) is None, "all leave it at once"


def guarded(racks: str, allowed: int, *podsets: Document) -> Instance:
    """Nodes a, b, c and d in the given racks; a job on the first two, a budget for its pods."""
    nodes = [node(name, rack=f"b/{rack}") for name, rack in zip("abcd", racks, strict=True)]
    selector = {"matchLabels": {"job": "g"}}
    budget = {"name": "pdb", "selector": selector, "disruptionsAllowed": allowed}
    return question(nodes, [job("g", *podsets)], podDisruptionBudgets=[budget])


PAIRS = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}


@pytest.mark.parametrize("racks", ["1212", "1221"])
def test_pods_of_slices_stay_in_their_domains_whatever_the_order_of_the_nodes(racks: str) -> None:
    sliced = pods(count=4, on=["a", "a", "b", "b"], topologyRequest=PAIRS)
    instance = guarded(racks, 1, sliced)
    waves = sequence(instance, placed(instance, g=["c", "c", "d", "d"]))
    assert told(waves) == [["m1"], ["m2"], ["m3"], ["m4"]]


def test_each_slice_changes_its_domain_by_itself() -> None:
    def waves_within(allowed: int) -> tuple[Wave, ...] | None:
        sliced = pods(count=4, on=["a", "a", "b", "b"], topologyRequest=PAIRS)
        instance = guarded("1234", allowed, sliced)
        return sequence(instance, placed(instance, g=["c", "c", "d", "d"]))

    assert waves_within(1) is None
    assert told(waves_within(2)) == [["m1"], ["m2"]]
    assert told(waves_within(4)) == [["m1", "m2"]]


def test_each_role_with_a_need_of_its_own_changes_its_domain_by_itself() -> None:
    def waves_within(allowed: int) -> tuple[Wave, ...] | None:
        near = {"count": 2, "topologyRequest": {"required": "rack"}}
        roles = pods("m", on=["a", "a"], **near), pods("w", on=["b", "b"], **near)
        instance = guarded("1234", allowed, *roles)
        return sequence(instance, put(instance, {"g/m": ["c", "c"], "g/w": ["d", "d"]}))

    assert waves_within(1) is None
    assert told(waves_within(2)) == [["m1"], ["m2"]]


def test_slices_of_one_pod_tie_nobody() -> None:
    single = pods(count=2, on=["a", "a"], topologyRequest={**PAIRS, "podSetSliceSize": 1})
    instance = guarded("1234", 1, single)
    assert told(sequence(instance, placed(instance, g=["c", "d"]))) == [["m1"], ["m2"]]


def test_pods_of_slices_of_one_pod_go_wherever_that_has_an_order() -> None:
    """Who may leave first makes room for the other job, and so for the last."""
    racks = {"a": "v", "b": "u", "c": "w", "d": "x"}
    nodes = [node(name, cpu=1, rack=f"1/{rack}") for name, rack in racks.items()]
    single = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 1}
    jobs = [
        job("r", pods(on=["a"]), moveMode="live"),
        job("g", pods(count=2, on=["b", "c"], topologyRequest=single), moveMode="live"),
    ]
    instance = question(nodes, jobs)
    wanted = placed(instance, r=["b"], g=["a", "d"])
    waves = sequence(instance, wanted)
    assert waves is not None
    assert replay(instance, waves) == ([], wanted)
    assert not any(action.stopover for wave in waves for action in wave.actions)


def test_slices_share_a_wave_where_nothing_makes_them_wait_and_many_are_judged() -> None:
    n = 12
    nodes = [node(f"n{i}", rack=f"b/{i}", cpu=2) for i in range(2 * n)]
    there = [f"n{i}" for i in range(n) for _ in range(2)]
    goes = [f"n{i + n}" for i in range(n) for _ in range(2)]
    stands = [job(f"r{i}", pods(on=[f"n{i + n}"])) for i in range(n)]
    sliced = pods(count=2 * n, on=there, topologyRequest=PAIRS)
    free = question(nodes, [job("g", sliced)])
    waves = sequence(free, placed(free, g=goes))
    assert waves is not None
    assert len(waves) == 1
    taken = question([*nodes, *(node(f"m{i}") for i in range(n))], [job("g", sliced), *stands])
    waves = sequence(taken, placed(taken, g=goes, **{f"r{i}": [f"m{i}"] for i in range(n)}))
    assert waves is not None
    assert all(len(wave.after) < 2 for wave in waves)
    assert sum(bool(wave.after) for wave in waves) == n


def test_moves_of_a_chain_use_the_room_that_the_one_before_gave_up() -> None:
    jobs = [job(f"r{i}", pods(cpu=4, on=[f"n{i}"]), moveMode="live") for i in range(4)]
    instance = question([node(f"n{i}") for i in range(5)], jobs)
    target = put(instance, {f"r{i}": [f"n{i + 1}"] for i in range(4)})
    waves = sequence(instance, target)
    assert waves is not None
    assert [wave.actions[0].podset for wave in waves] == [3, 2, 1, 0]


@pytest.mark.parametrize("seeds", [range(k, k + 20) for k in some(range(0, 200, 20))], ids=str)
def test_an_order_is_legal_and_arrives(seeds: range) -> None:
    for seed in seeds:
        instance = random_instance(seed)
        fast = built(instance, Strategy.BEST_FIT)
        exact = best(instance)[1] if seed % 4 == 0 else None
        for placement in (fast, exact):
            if placement is None:
                continue
            waves = sequence(instance, placement)
            assert waves is not None or placement is exact, seed
            if waves is not None:
                violations, final = replay(instance, waves)
                assert final == placement
                assert not [v for v in violations if v.rule != Rule.REQUIRED]


def test_where_pods_are_spread_who_fits_in_whatever_comes_waits_for_nobody_else() -> None:
    """One zone has a pod already: its next waits for the other two, and these for no other."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "main"}},
    }
    service = {"cpu": 2, "minCount": 0, "topologySpreadConstraints": [constraint]}
    jobs = [
        job("v", pods(cpu=2, on=["a"]), priority=9),
        job("w", pods(count=3, **service), priority=9),
        *(job(f"r{n}", pods("x", cpu=2, on=[n])) for n in "abc"),
    ]
    cpus = {"a": 4, "b": 2, "c": 2}
    instance = question([node(n, cpu=k, labels={"zone": n}) for n, k in cpus.items()], jobs)
    placement = put(instance, {"ra": [], "rb": [], "rc": [], "w": ["a", "b", "c"]})
    waves = sequence(instance, placement)
    assert waves is not None
    assert not replay(instance, waves)[0]
    by_node = {action.target.node: w for w in waves for action in w.actions if action.target}
    assert [len(by_node[n].after) for n in range(3)] == [3, 1, 1]


def test_what_all_are_spread_by_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each job has a constraint of its own on the pods of all: they are as many as their square."""
    everybody = {"maxSkew": 50, "topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
    alike: Document = {"labels": {"a": "b"}, "topologySpreadConstraints": [everybody]}
    jobs = [job(f"j{i}", pods(on=["a"], **alike)) for i in range(60)]
    instance = question([node(n, labels={"zone": n}) for n in "ab"], jobs)
    counted, asked = [0], Instance.label_domain

    def label_domain(self: Instance, n: int, key: str) -> str | None:
        counted[0] += 1
        return asked(self, n, key)

    monkeypatch.setattr(Instance, "label_domain", label_domain)
    waves = sequence(instance, put(instance, {"j0": ["b"], "j1": ["b"]}))
    assert waves is not None
    assert len(waves) == 1
    assert counted[0] < 10 * len(jobs)


def test_a_pod_waits_for_no_quota_of_what_it_does_not_ask_for() -> None:
    """Of the queue's GPUs there are too few for both, of its CPUs enough for all."""
    jobs = [
        job("r", pods(gpu=1, on=["a"]), queueName="q"),
        job("j", pods(gpu=1), queueName="q", priority=9),
        job("k", pods(), queueName="q", priority=9),
    ]
    quota = [{"name": "nvidia.com/gpu", "nominalQuota": 1}, {"name": "cpu", "nominalQuota": 9}]
    nodes = [node("a", gpu=1), node("b", gpu=1)]
    instance = question(nodes, jobs, queues=[{"name": "q", "resources": quota}])
    placement = placed(instance, r=[], j=["b"], k=["b"])
    waves = sequence(instance, placement)
    assert waves is not None
    assert not replay(instance, waves)[0]
    after = {action.podset: wave.after for wave in waves for action in wave.actions}
    assert [len(after[s]) for s in range(3)] == [0, 1, 0]


def test_who_has_to_wait_anyway_leaves_what_is_free_to_others() -> None:
    """Two CPUs are free and two more once a pod has moved: three wait for it, one need not."""
    jobs = [
        job("r", pods(cpu=2, on=["a"])),
        job("big", pods(cpu=3), priority=9),
        job("small", pods(cpu=1), priority=8),
    ]
    instance = question([node("a", cpu=4), node("b", cpu=2)], jobs)
    waves = sequence(instance, placed(instance, r=["b"], big=["a"], small=["a"]))
    assert waves is not None
    assert not replay(instance, waves)[0]
    after = {action.podset: wave.after for wave in waves for action in wave.actions}
    assert [len(after[s]) for s in range(3)] == [0, 1, 0]
