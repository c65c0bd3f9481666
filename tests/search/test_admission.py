"""Chains of pods that keep apart, are spread or are near others, counted by domain."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Rule
from kantopt.search.chains import scope
from kantopt.search.chains.improve import OPERATORS
from kantopt.search.chains.improve import improve as chains
from kantopt.search.chains.packing import Packing
from kantopt.search.chains.scope import scope_of
from kantopt.search.columns.least import least_disruption
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.state import State
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.campaign import some
from tests.oracle import best
from tests.search.helpers import Witness, where
from tests.verify.world import Document, job, node, pods, question

OBJECTIVES = ({"unplaced": {"unit": "pod"}}, {"evictions": {"by": "all"}}, "moves")
BRIEF = Deadline(1.0, deterministic=True)


def ask(nodes: list[Document], jobs: list[Document], **more: Any) -> Instance:
    return question(nodes, jobs, objectives=OBJECTIVES, **more)


def improved(instance: Instance) -> Placement:
    """Improve what is."""
    incumbent = Witness(instance, tiers_of(instance), instance.current)
    chains(incumbent, BRIEF)
    return incumbent.placement


def like(**labels: str) -> Document:
    return {"labelSelector": {"matchLabels": labels}}


def away(key: str, **labels: str) -> dict[str, Any]:
    return {"podAntiAffinity": [{"topologyKey": key, **like(**labels)}]}


def spread(key: str, skew: int = 1, **labels: str) -> dict[str, Any]:
    return {"topologySpreadConstraints": [{"topologyKey": key, "maxSkew": skew, **like(**labels)}]}


def racks(*sizes: int, each: int = 2) -> list[Document]:
    """Nodes a, b, ... of so many cores in racks r0, r1, ..., each with its own label ``at``."""
    return [
        node(name, cpu=cpu, rack=f"x/r{i // each}", labels={"at": name})
        for i, (name, cpu) in enumerate(zip("abcdefgh", sizes, strict=False))
    ]


NEW = job("new", pods(nodeSelector={"at": "a"}))
"""Waits for a core of node a."""


def test_a_replica_steps_aside_to_a_rack_without_one() -> None:
    """There is room on b and c, but only e is in a rack that has none."""
    replicas = job("s", pods(count=2, on=["a", "d"], **away("rack", job="s")))
    instance = ask(racks(1, 1, 1, 1, 1), [replicas, NEW])
    found = improved(instance)
    assert where(instance, found, "new") == {"a": 1}
    assert where(instance, found, "s") in ({"b": 1, "d": 1}, {"d": 1, "e": 1})


def test_a_replica_stays_where_every_other_rack_has_one() -> None:
    replicas = job("s", pods(count=2, on=["a", "b"], **away("rack", job="s")))
    instance = ask(racks(1, 9, 9, each=1), [replicas, job("t", pods(on=["c"])), NEW])
    assert where(instance, improved(instance), "new") == {"a": 1}
    third = job("s", pods(count=3, on=["a", "b", "c"], **away("rack", job="s")))
    instance = ask(racks(1, 9, 9, each=1), [third, NEW])
    assert where(instance, improved(instance), "new") == {}


@pytest.mark.parametrize("asks", ["quiet", "loud"])
def test_sets_that_exclude_each_other_share_no_rack(asks: str) -> None:
    """Whoever asks for it: the quiet pod on a may go to e alone, the loud ones are on b and c."""
    apart = {"quiet": away("rack", job="loud"), "loud": away("rack", job="quiet")}[asks]
    quiet, loud = ({**(apart if name == asks else {})} for name in ("quiet", "loud"))
    jobs = [
        job("quiet", pods(on=["a"], **quiet)),
        job("loud", pods(count=3, on=["c", "c", "d"], movable=False, **loud)),
    ]
    instance = ask(racks(1, 0, 9, 9, 1), [*jobs, NEW])
    found = improved(instance)
    assert where(instance, found, "quiet") == {"e": 1}
    closed = ask(racks(1, 0, 9, 9), [*jobs, NEW])
    assert where(closed, improved(closed), "new") == {}


def test_a_spread_pod_steps_aside_to_a_zone_that_may_have_one_more() -> None:
    """Zones have 2, 1 and 2 of them: of those with room only that of c may have one more."""
    zones = racks(2, 9, 9, 9, 9, 9)
    spread_ = job("s", pods(count=5, on=["a", "a", "c", "e", "e"], **spread("rack", job="s")))
    instance = ask(zones, [spread_, job("new", pods(cpu=1, nodeSelector={"at": "a"}))])
    found = improved(instance)
    assert where(instance, found, "new") == {"a": 1}
    assert measure(instance, found, tiers_of(instance)) == (0, 0, 1)
    zones = racks(2, 0, 9, 9, 9, 9)
    instance = ask(zones, [spread_, job("new", pods(cpu=1, nodeSelector={"at": "a"}))])
    assert where(instance, improved(instance), "s") == {"a": 1, "c": 2, "e": 2}


def test_a_chain_that_would_empty_a_zone_too_far_is_refused() -> None:
    """One leaves a zone with one of them for a zone with one, where it then exceeds by two."""
    spread_ = job("s", pods(count=2, on=["a", "b"], **spread("rack", job="s")))
    instance = ask(racks(1, 9, each=1), [spread_, NEW])
    assert where(instance, improved(instance), "new") == {}
    lenient = job("s", pods(count=2, on=["a", "b"], **spread("rack", 2, job="s")))
    instance = ask(racks(1, 9, each=1), [lenient, NEW])
    assert where(instance, improved(instance), "new") == {"a": 1}


def test_a_pod_near_one_that_stays_moves_within_its_domain() -> None:
    near = {"podAffinity": [{"topologyKey": "rack", **like(job="store")}]}
    store = job("store", pods(on=["b"], movable=False, preemptible=False))
    jobs = [store, job("x", pods(on=["a"], **near)), NEW]
    instance = ask(racks(1, 2, 9), jobs)
    assert where(instance, improved(instance), "x") == {"b": 1}
    instance = ask(racks(1, 1, 9), jobs)
    assert where(instance, improved(instance), "x") == {"a": 1}


def test_pods_near_one_that_may_leave_stay() -> None:
    near = {"podAffinity": [{"topologyKey": "rack", **like(job="store")}]}
    jobs = [job("store", pods(on=["b"])), job("x", pods(on=["a"], **near)), NEW]
    instance = ask(racks(1, 2, 9), jobs)
    assert improved(instance) == instance.current


def test_nobody_comes_where_a_victim_would_keep_him_off() -> None:
    """The victim on a and who waits for b are as important, and keep apart in their rack."""
    both = away("rack", team="t")
    jobs = [
        job("victim", pods(cpu=2, on=["a"], labels={"team": "t"}, **both), priority=1),
        job("high", pods(cpu=2, nodeSelector={"at": "a"}), priority=9),
        job("low", pods(nodeSelector={"at": "b"}, labels={"team": "t"}, **both), priority=1),
    ]
    for priority, both_come in (("counts", True), ("strict", False)):
        instance = ask(racks(2, 1), jobs, rules={"priority": priority})
        found = improved(instance)
        came = [bool(where(instance, found, name)) for name in ("high", "low")]
        assert all(came) == both_come


def test_a_pod_that_has_moved_has_come_for_the_state_until_it_is_settled() -> None:
    """Rack b has two then and c none: too many where one has come, no fault of those that run."""
    spread_ = job("s", pods(count=4, on=["a", "a", "b", "c"], **spread("rack", job="s")))
    instance = ask(racks(3, 3, 3, each=1), [spread_])
    for settled in (False, True):
        state = State(instance)
        state.add(0, Spot(2), -1)
        state.add(0, Spot(1), 1)
        if settled:
            state.settle([0])
        assert state.neighbours.holds([0]) == settled


@pytest.mark.parametrize("most", [1, 2])
def test_of_many_services_the_largest_move_and_the_others_stay(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scope, "MOST_KINS", most)
    large = job("large", pods(count=3, on=["c", "e", "g"], **away("rack", job="large")))
    small = job("small", pods(count=2, on=["a", "c"], **away("rack", job="small")))
    instance = ask(racks(1, 0, 2, 0, 2, 0, 1), [large, small, NEW])
    assert len(where(instance, improved(instance), "new")) == most - 1


def drawn(seed: int, priority: str) -> Instance:
    """Draw a tight question of few pods, nearly all of which look at the others of a domain."""
    rng = random.Random(seed)
    nodes = [node(name, cpu=rng.randint(1, 3), rack=f"x/r{rng.randrange(3)}") for name in "abcd"]
    if rng.random() < 0.2:
        del nodes[0]["labels"]["rack"]

    def rules(name: str) -> dict[str, Any]:
        other = rng.choice("stu")
        drawn: list[dict[str, Any]] = [
            away("rack", job=name),
            away("rack", job=other),
            away("rack", team="x"),
            spread("rack", rng.randint(1, 2), job=name),
            spread("rack", 1, job=other),
            spread("rack", 1, team="x"),
            {"podAffinity": [{"topologyKey": "rack", **like(job="store")}]},
            {},
        ]
        if rng.random() < 0.3:
            drawn[3]["topologySpreadConstraints"][0]["minDomains"] = 3
        return rng.choice(drawn) | (rng.choice(drawn) if rng.random() < 0.4 else {})

    room = {each["name"]: each["allocatable"]["cpu"] for each in nodes}

    def places(count: int, cpu: int) -> list[str]:
        found = []
        for _ in range(count):
            able = [name for name, left in room.items() if left >= cpu]
            if able:
                found.append(rng.choice(able))
                room[found[-1]] -= cpu
        return found

    jobs = []
    for name in "stuv":
        count, cpu, labels = rng.randint(1, 2), rng.randint(1, 2), {"team": rng.choice("xy")}
        on = places(rng.randint(0, count), cpu) if name != "v" else []
        role = pods(count=count, cpu=cpu, on=on, minCount=0, labels=labels, **rules(name))
        jobs.append(job(name, role, priority=rng.randint(1, 2)))
    if store := places(1, 1):
        jobs.append(job("store", pods(on=store, movable=False, preemptible=False)))
    return ask(nodes, jobs, rules={"priority": priority})


@pytest.mark.parametrize("priority", ["counts", "strict"])
@pytest.mark.parametrize("seeds", [range(k, k + 20) for k in some(range(0, 120, 20))], ids=str)
def test_nothing_that_chains_offer_is_refused_and_most_of_it_is_best(
    seeds: range, priority: str
) -> None:
    reached = moved = 0
    for seed in seeds:
        instance = drawn(seed, priority)
        tiers = tiers_of(instance)
        incumbent = Witness(instance, tiers, instance.current)
        chains(incumbent, BRIEF, seed)
        optimum, _ = best(instance)
        assert optimum is not None
        assert incumbent.values >= optimum
        reached += incumbent.values == optimum
        groups = scope_of(instance, instance.current).groups
        moved += incumbent.values < measure(instance, instance.current, tiers) and any(
            group.kin is not None for group in groups
        )
    assert reached >= 12
    assert moved >= 12


def test_the_same_question_gets_the_same_answers() -> None:
    told: list[list[Placement]] = [[], []]
    for found in told:
        for seed in range(6):
            instance = drawn(seed, "counts")
            incumbent = Witness(instance, tiers_of(instance), instance.current, found=found.append)
            chains(incumbent, BRIEF, 7)
    assert told[0] == told[1]
    assert told[0]


@pytest.mark.parametrize("seed", range(6))
def test_rows_of_neighbours_say_what_the_judge_says_and_undoing_leaves_no_trace(seed: int) -> None:
    instance = drawn(seed, "counts")
    tiers = tiers_of(instance)
    scope_ = scope_of(instance, instance.current)
    packing = Packing(scope_, tiers, measure(instance, instance.current, tiers), 0)
    rng = random.Random(seed)
    free = packing.free.copy()
    for operator, _ in OPERATORS * 5:
        operator(packing, rng)
        for g in range(packing.count):
            nodes = [n for n in range(packing.nodes) if packing.has_room(g, n)]
            for n in nodes if packing.waits(g) and not packing.offended() else ():
                packing.add(g, n)
                assert not faults(instance, packing)
                packing.remove(g, n)
        assert bool(packing.offended()) == faults(instance, packing)
        packing.undo()
        assert (packing.free == free).all()
        assert not packing.offended()
        for n, slots in enumerate(packing.slot):
            for g, slot in slots.items():
                offer = packing.free[:, n] + packing.ask[g]
                assert (packing.offer[:, slot] == offer).all()


def faults(instance: Instance, packing: Packing) -> bool:
    """Whether the judge finds pods that came where others do not bear them."""
    rules = (Rule.ANTI_AFFINITY, Rule.SPREAD, Rule.AFFINITY)
    return bool(check(instance, packing.scope.placement(packing.snapshot()), rules))


def test_bounds_of_columns_which_leave_neighbours_out_hold() -> None:
    told = 0
    for seed in range(30):
        instance = drawn(seed, "counts")
        tiers = tiers_of(instance)
        optimum, found = best(instance)
        assert found is not None
        for start in (instance.current, found):
            values = [measure(instance, start, tiers)]
            bounds: list[tuple[int, int, tuple[int, ...]]] = []
            least_disruption(
                Incumbent(
                    instance,
                    tiers,
                    start,
                    found=lambda p, v=values, i=instance, t=tiers: v.append(measure(i, p, t)),
                ),
                BRIEF,
                lambda t, b, v=values, told=bounds: told.append((t, b, v[-1])),
            )
            for t, bound, locks in bounds:
                if all(x <= y for x, y in zip(optimum[:t], locks, strict=False)):
                    assert bound <= optimum[t]
            told += len(bounds)
    assert told >= 5
