"""Every state on the way: waves must find their room, and do no more than they say."""

from __future__ import annotations

import pytest

from kantopt.problem.actions import Action, Wave
from kantopt.problem.instance import Instance
from kantopt.verify.replay import replay
from tests.verify.world import HOST, Document, Where, job, node, pods, podset_of, question, spot_of

NODES = [node("a", rack="x/1"), node("b", rack="x/2"), node("c", rack="x/3")]


def act(
    instance: Instance, name: str, source: Where | None, target: Where | None, count: int = 1
) -> Action:
    """What goes from somewhere to somewhere: a bind, an eviction or a move."""
    kind = "bind" if source is None else "evict" if target is None else "move"
    return Action(
        id=f"{kind} {name}",
        kind=kind,  # type: ignore[arg-type]
        podset=podset_of(instance, name),
        pods=count,
        source=None if source is None else spot_of(instance, source),
        target=None if target is None else spot_of(instance, target),
    )


def in_a_row(*waves: list[Action]) -> list[Wave]:
    """Waves of which each waits for the one before."""
    return [Wave(i, (i - 1,) if i else (), tuple(wave)) for i, wave in enumerate(waves)]


def at_once(*waves: list[Action]) -> list[Wave]:
    """Waves that wait for nobody."""
    return [Wave(i, (), tuple(wave)) for i, wave in enumerate(waves)]


def said(instance: Instance, waves: list[Wave]) -> list[str]:
    return [str(violation) for violation in replay(instance, waves)[0]]


def swap(mode: str) -> tuple[Instance, list[Action]]:
    """Two jobs that fill a node each and want to change places."""
    jobs = [job(name, pods(cpu=4, on=[on]), moveMode=mode) for name, on in (("r", "a"), ("s", "b"))]
    instance = question(NODES[:2], jobs)
    return instance, [act(instance, "r", "a", "b"), act(instance, "s", "b", "a")]


def preemption() -> tuple[Instance, Action, Action]:
    """A full node, a more important job that wants it."""
    jobs = [job("r", pods(cpu=4, on=["a"])), job("j", pods(cpu=4), priority=9)]
    instance = question(NODES[:1], jobs)
    return instance, act(instance, "r", "a", None), act(instance, "j", None, "a")


def test_a_plan_of_no_waves_is_legal_and_changes_nothing() -> None:
    instance, _, _ = preemption()
    assert replay(instance, []) == ([], instance.current)


def test_an_eviction_before_the_bind_that_needs_its_room_is_legal() -> None:
    instance, evict, bind = preemption()
    violations, final = replay(instance, in_a_row([evict], [bind]))
    assert violations == []
    assert final.placed(podset_of(instance, "j")) == 1
    assert final.placed(podset_of(instance, "r")) == 0


@pytest.mark.parametrize("together", [True, False])
def test_a_bind_that_does_not_wait_for_the_eviction_finds_no_room(together: bool) -> None:
    instance, evict, bind = preemption()
    waves = at_once([evict, bind]) if together else at_once([evict], [bind])
    found = said(instance, waves)
    assert len(found) == 1
    assert found[0].endswith("node a: 8 of 4 cpu")


def test_a_bind_before_the_eviction_finds_no_room() -> None:
    instance, evict, bind = preemption()
    assert said(instance, in_a_row([bind], [evict])) != []


def test_two_restarts_can_swap_places_in_one_wave() -> None:
    instance, moves = swap("restart")
    assert said(instance, in_a_row(moves)) == []


def test_two_live_moves_cannot_swap_places() -> None:
    instance, moves = swap("live")
    assert said(instance, in_a_row(moves)) == [
        "capacity: wave 0: node a: 8 of 4 cpu",
        "capacity: wave 0: node b: 8 of 4 cpu",
    ]


def test_two_restarts_cannot_swap_places_one_after_the_other() -> None:
    instance, (first, second) = swap("restart")
    assert said(instance, in_a_row([first], [second])) != []
    assert len(said(instance, at_once([first], [second]))) == 2


def test_a_live_move_holds_both_places() -> None:
    jobs = [job("r", pods(cpu=3, on=["a"]), moveMode="live"), job("j", pods(cpu=3))]
    instance = question(NODES[:2], jobs)
    move, bind = act(instance, "r", "a", "b"), act(instance, "j", None, "a")
    assert said(instance, in_a_row([move], [bind])) == []
    assert said(instance, in_a_row([move, bind])) == ["capacity: wave 0: node a: 6 of 4 cpu"]


def test_the_room_of_a_restart_is_free_for_other_restarts_of_its_wave_only() -> None:
    jobs = [job("r", pods(cpu=3, on=["a"])), job("s", pods(cpu=3, on=["b"]))]
    instance = question(NODES, jobs)
    away, after = act(instance, "r", "a", "c"), act(instance, "s", "b", "a")
    assert said(instance, in_a_row([away, after])) == []
    assert said(instance, at_once([away], [after])) == ["capacity: wave 1: node a: 6 of 4 cpu"]


def gang() -> tuple[Instance, Action, Action]:
    instance = question(NODES, [job("j", pods(count=2))])
    return instance, act(instance, "j", None, "a"), act(instance, "j", None, "b")


def test_a_gang_is_bound_in_one_wave() -> None:
    instance, one, other = gang()
    assert said(instance, in_a_row([one, other])) == []


def test_a_gang_bound_in_two_waves_starts_with_half_of_it() -> None:
    instance, one, other = gang()
    assert said(instance, in_a_row([one], [other])) == [
        "gang: wave 0: job default/j pod set main: 1 of at least 2 pods"
    ]


def test_a_gang_bound_in_two_waves_side_by_side_may_start_with_half_of_it() -> None:
    instance, one, other = gang()
    assert said(instance, at_once([one], [other])) == [
        "gang: wave 0: job default/j pod set main: 1 of at least 2 pods",
        "gang: wave 1: job default/j pod set main: 1 of at least 2 pods",
    ]


def test_a_spread_must_hold_whichever_of_two_waves_runs_first() -> None:
    """One pod per node on a, b and c; the second on a waits until b has its first."""
    selector = {"matchLabels": {"job": "j"}}
    constraint = {"maxSkew": 1, "topologyKey": HOST, "labelSelector": selector}
    spread: Document = {"topologySpreadConstraints": [constraint]}
    roles = pods(count=4, minCount=0, on=["a", "c"], **spread)
    instance = question(NODES, [job("j", roles)])
    first, second = act(instance, "j+", None, "b"), act(instance, "j+", None, "a")
    assert said(instance, in_a_row([first], [second])) == []
    assert said(instance, in_a_row([second], [first])) != []
    assert said(instance, at_once([first], [second])) == [
        "spread: wave 1: job default/j pod set main: skew 2 of 1 in kubernetes.io/hostname=a"
    ]


def test_a_required_rack_must_hold_whichever_of_two_waves_runs_first() -> None:
    roles = [pods(name, minCount=0, on=["a"]) for name in "xy"]
    closeness = {"topologyRequest": {"required": "rack"}}
    instance = question(NODES, [job("r", *roles, **closeness)])
    moves = [act(instance, f"r/{name}", "a", "b") for name in "xy"]
    assert said(instance, in_a_row(moves)) == []
    assert "topology: wave 0: job default/r: 2 of 1 rack domains" in said(
        instance, at_once(moves[:1], moves[1:])
    )


def guarded(allowed: int, mode: str = "restart") -> Instance:
    roles = pods(count=3, minCount=0, on=["a"] * 3)
    budget = {"name": "b", "selector": {}, "disruptionsAllowed": allowed}
    jobs = [job("r", roles, moveMode=mode), job("j", pods(cpu=3), priority=9)]
    return question([NODES[0], NODES[1]], jobs, podDisruptionBudgets=[budget])


def test_restarts_give_their_slot_of_a_budget_back() -> None:
    instance = guarded(1)
    move = act(instance, "r", "a", "b")
    assert said(instance, in_a_row([move], [move], [move])) == []


@pytest.mark.parametrize("count", [2, 3])
def test_restarts_at_once_need_a_slot_each(count: int) -> None:
    instance = guarded(count - 1)
    move = act(instance, "r", "a", "b")
    one_wave = said(instance, in_a_row([move] * count))
    assert one_wave == [
        f"disruption: wave 0: budget default/b: {count} of {count - 1} pods away at once"
    ]
    assert len(said(instance, at_once(*[[move]] * count))) == count


def test_live_moves_need_no_slot() -> None:
    instance = guarded(0, "live")
    assert said(instance, in_a_row([act(instance, "r", "a", "b", count=3)])) == []


def test_an_eviction_keeps_its_slot_to_the_end() -> None:
    instance = guarded(1)
    evict, move = act(instance, "r", "a", None), act(instance, "r", "a", "b")
    bind = act(instance, "j", None, "a")
    assert said(instance, in_a_row([move], [evict], [bind])) == []
    assert said(instance, in_a_row([evict], [move], [bind])) == [
        "disruption: wave 1: budget default/b: 2 of 1 pods away at once"
    ]


def test_waves_beside_each_other_need_room_for_all_that_they_bring() -> None:
    instance = question(NODES[:1], [job("j", pods(cpu=3)), job("k", pods(cpu=3))])
    waves = at_once([act(instance, "j", None, "a")], [act(instance, "k", None, "a")])
    assert said(instance, waves) == [
        "capacity: wave 0: node a: 6 of 4 cpu",
        "capacity: wave 1: node a: 6 of 4 cpu",
        "capacity: node a: 6 of 4 cpu",
    ]


def test_waiting_is_passed_on() -> None:
    """Wave 2 waits for 1 and 1 for 0: the room that 0 frees is there for 2."""
    instance, evict, bind = preemption()
    jobs = Wave(0, (), (evict,)), Wave(1, (0,), ()), Wave(2, (1,), (bind,))
    assert said(instance, list(jobs)) == []


def test_actions_on_pods_that_are_not_there_contradict_the_snapshot() -> None:
    instance, evict, bind = preemption()
    assert "actions: job default/r pod set main: 2 of 1 pods leave node a" in said(
        instance, in_a_row([evict], [evict])
    )
    assert "actions: job default/j pod set main: 2 of 1 pods bound" in said(
        instance, in_a_row([evict], [bind], [bind])
    )
    unbound = act(instance, "j", "a", None)
    assert "actions: action evict j: 1 pods that do not run" in said(instance, in_a_row([unbound]))
    rebound = act(instance, "r", None, "a")
    assert "actions: action bind r: 1 pods that run already" in said(instance, in_a_row([rebound]))


def test_pods_that_move_only_to_change_places_with_their_like_are_moved_in_vain() -> None:
    """Nothing is different at the end, so that no rule on moves would notice."""
    jobs = [job("r", pods(count=2, on=["a", "b"]), movable=False)]
    instance = question(NODES[:2], jobs)
    moves = [act(instance, "r", "a", "b"), act(instance, "r", "b", "a")]
    assert said(instance, in_a_row(moves)) == [
        "actions: job default/r pod set main: 2 of 0 pods move that need to"
    ]


def test_the_whole_is_judged_too() -> None:
    """Rules that no single wave breaks: here a limit on moves."""
    jobs = [job("r", pods(count=2, on=["a", "a"]))]
    instance = question(NODES[:2], jobs, limits={"moves": 1})
    move = act(instance, "r", "a", "b")
    assert said(instance, in_a_row([move], [move])) == ["limits: moves: 2 of 1 pods"]


def test_an_evicted_pod_still_repels_in_its_own_wave() -> None:
    apart = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"job": "r"}}}]
    wants = job("j", pods(podAntiAffinity=apart), priority=9)
    instance = question(NODES[:1], [job("r", pods(on=["a"])), wants])
    evict, bind = act(instance, "r", "a", None), act(instance, "j", None, "a")
    assert said(instance, in_a_row([evict], [bind])) == []
    assert said(instance, in_a_row([evict, bind])) == [
        "anti_affinity: wave 0: job default/j pod set main: "
        f"1 of 0 pods it keeps away from in {HOST} a"
    ]


@pytest.mark.parametrize("mode", ["restart", "live"])
def test_pods_that_keep_apart_change_places_if_both_have_left_before_they_come(mode: str) -> None:
    """A wave that restarts them does; what is there from its start on, or beside it, meets them."""
    apart = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"job": "r"}}}]
    jobs = [
        job("r", pods(on=["a"]), moveMode=mode),
        job("s", pods(on=["b"], podAntiAffinity=apart), moveMode=mode),
        job("j", pods(podAntiAffinity=apart)),
    ]
    instance = question(NODES[:2], jobs)
    there, back = act(instance, "r", "a", "b"), act(instance, "s", "b", "a")
    restarts = mode == "restart"
    assert (said(instance, in_a_row([there, back])) == []) is restarts
    bind = act(instance, "j", None, "a")
    assert (said(instance, in_a_row([there, back], [bind])) == []) is restarts
    for waves in (
        in_a_row([there, back, bind]),
        at_once([there], [back]),
        in_a_row([there], [back]),
    ):
        assert any("anti_affinity: wave 0" in fault for fault in said(instance, waves))


def test_an_evicted_pod_still_uses_its_quota_in_its_own_wave() -> None:
    queues = [{"name": "q", "resources": [{"name": "cpu", "nominalQuota": 1}]}]
    jobs = [job("r", pods(on=["a"]), queueName="q"), job("j", queueName="q", priority=9)]
    instance = question(NODES[:2], jobs, queues=queues)
    evict, bind = act(instance, "r", "a", None), act(instance, "j", None, "b")
    assert said(instance, in_a_row([evict], [bind])) == []
    assert said(instance, in_a_row([evict, bind])) == ["quota: wave 0: queue q: 2 of 1 cpu"]


@pytest.mark.parametrize(("quota", "wrong"), [(2, []), (1, ["quota: wave 1: queue q: 2 of 1 cpu"])])
def test_who_leaves_a_queue_beyond_its_quota_hands_on_what_is_within(
    quota: int, wrong: list[str]
) -> None:
    queues = [{"name": "q", "resources": [{"name": "cpu", "nominalQuota": quota}]}]
    old = job("r", pods(cpu=3, on=["a"]), queueName="q")
    instance = question(
        NODES[:2], [old, job("j", pods(cpu=2), queueName="q", priority=9)], queues=queues
    )
    evict, bind = act(instance, "r", "a", None), act(instance, "j", None, "b")
    told = [text for text in said(instance, in_a_row([evict], [bind])) if "wave" in text]
    assert told == wrong
    too_soon = said(instance, in_a_row([bind], [evict]))
    assert f"quota: wave 0: queue q: 5 of {quota} cpu" in too_soon


def test_what_a_cohort_shares_beyond_its_quota_no_other_queue_of_it_is_handed() -> None:
    quota = {"name": "cpu", "nominalQuota": 1}
    queues = [{"name": q, "cohort": "c", "resources": [quota]} for q in ("q", "r")]
    old = job("r", pods(cpu=3, on=["a"]), queueName="q")
    new, larger = (job(f"j{cpu}", pods(cpu=cpu), queueName="r", priority=9) for cpu in (2, 3))
    instance = question(NODES[:2], [old, new, larger], queues=queues)
    evict, bind = act(instance, "r", "a", None), act(instance, "j2", None, "b")
    assert said(instance, in_a_row([evict], [bind])) == []
    assert said(instance, at_once([evict], [bind])) == [
        "quota: wave 1: cohort c: 5 of 2 shared cpu"
    ]
    other = act(instance, "j3", None, "b")
    assert "quota: wave 1: cohort c: 3 of 2 shared cpu" in said(
        instance, in_a_row([evict], [other])
    )


def test_who_keeps_quota_waits_until_its_cohort_has_given_back_what_it_needs_of_it() -> None:
    rows = {"q": {"nominalQuota": 1}, "r": {"nominalQuota": 2, "lendingLimit": 0}}
    queues = [{"name": q, "cohort": "c", "resources": [{"name": "cpu"} | rows[q]]} for q in rows]
    old = job("r", pods(cpu=2, on=["a"]), queueName="q")
    new = job("j", pods(cpu=2), queueName="r", priority=9)
    instance = question(NODES[:2], [old, new], queues=queues)
    evict, bind = act(instance, "r", "a", None), act(instance, "j", None, "b")
    assert said(instance, in_a_row([evict], [bind])) == []
    too_soon = "quota: wave 1: cohort c: 2 of 1 shared cpu"
    assert said(instance, at_once([evict], [bind])) == [too_soon]


def test_a_bind_does_not_find_the_room_of_a_restart_in_its_own_wave() -> None:
    """The pod that restarts may still be there when the other is bound."""
    instance = question(NODES[:2], [job("r", pods(cpu=4, on=["a"])), job("j", pods(cpu=4))])
    move, bind = act(instance, "r", "a", "b"), act(instance, "j", None, "a")
    assert said(instance, in_a_row([move], [bind])) == []
    assert said(instance, in_a_row([move, bind])) == ["capacity: wave 0: node a: 8 of 4 cpu"]


def test_a_gang_that_comes_in_a_long_chain_of_waves_is_judged() -> None:
    count = 600
    jobs = [job("g", pods(count=count, cpu=1), minCount=1)]
    instance = question([node("a", cpu=count)], jobs)
    waves = in_a_row(*([act(instance, "g", None, "a")] for _ in range(count)))
    assert said(instance, waves) == []


def test_a_gang_whose_waves_have_no_order_is_refused_past_what_anyone_would_look_at() -> None:
    jobs = [job("g", pods(count=12, cpu=1), minCount=1)]
    instance = question([node("a", cpu=12)], jobs)
    waves = at_once(*([act(instance, "g", None, "a")] for _ in range(12)))
    assert [line for line in said(instance, waves) if "too many orders" in line]


PAIRS = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}


def test_whole_slices_move_in_any_order_however_many_there_are() -> None:
    nodes = [node(f"n{i}", rack=f"b/{i}") for i in range(24)]
    on = [f"n{i}" for i in range(12) for _ in range(2)]
    instance = question(nodes, [job("g", pods(count=24, on=on, topologyRequest=PAIRS))])
    waves = at_once(*([act(instance, "g", f"n{i}", f"n{i + 12}", 2)] for i in range(12)))
    assert said(instance, waves) == []


def test_no_part_of_a_slice_moves_by_itself() -> None:
    nodes = [node(name, rack=f"b/{name}") for name in "ab"]
    instance = question(nodes, [job("g", pods(count=2, on=["a", "a"], topologyRequest=PAIRS))])
    assert said(instance, in_a_row([act(instance, "g", "a", "b", 2)])) == []
    halves = [[act(instance, "g", "a", "b")] for _ in range(2)]
    assert any(line.startswith("slices: wave 0") for line in said(instance, in_a_row(*halves)))


def test_slices_do_not_move_by_themselves_where_a_domain_holds_part_of_one() -> None:
    """A rack may keep the three pods that it has; one of them, or five, it may not."""
    nodes = [node(name, rack=f"b/{rack}") for name, rack in zip("abcd", "1123", strict=True)]
    on = ["a", "a", "a", "c", "c"]
    instance = question(nodes, [job("g", pods(count=5, on=on, topologyRequest=PAIRS))])
    goes, comes = act(instance, "g", "a", "d", 2), act(instance, "g", "c", "b", 2)
    assert said(instance, in_a_row([goes, comes])) == []
    assert any(line.startswith("slices: ") for line in said(instance, in_a_row([goes], [comes])))
