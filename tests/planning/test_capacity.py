"""How many more of a job fit: values and bounds by hand and by brute force."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.errors import UsageError
from kantopt.planning.capacity.asked import Short, job_in_short, job_of
from kantopt.planning.capacity.copies import MOST_PODS
from kantopt.planning.capacity.run import capacity
from kantopt.planning.explain.run import explain
from kantopt.planning.question import Question
from kantopt.planning.solving.options import Options
from kantopt.problem.build import build_instance
from kantopt.problem.not_modelled import why_not_placed
from kantopt.schema.answers.capacity import Capacity
from kantopt.schema.extends import load_model
from kantopt.schema.jobs import Job
from kantopt.schema.model import Model, Objective
from tests.campaign import some
from tests.generate import random_documents
from tests.oracle import best
from tests.questions import question

GPU = "nvidia.com/gpu"
RACKS = {"levels": [{"name": "rack", "nodeLabel": "rack"}]}


def node(name: str, gpus: int = 8, rack: str = "r1", **more: Any) -> dict[str, Any]:
    return {"name": name, "labels": {"rack": rack}, "allocatable": {"cpu": 64, GPU: gpus}, **more}


def running(name: str, on: str, gpus: int, **more: Any) -> dict[str, Any]:
    podset = {"count": 1, "requests": {"cpu": 1, GPU: gpus}, "assignments": [{"node": on}]}
    return {"name": name, "podSets": [podset], **more}


def job(pods: int = 1, gpus: int = 8, **more: Any) -> dict[str, Any]:
    return {"name": "j", "podSets": [{"count": pods, "requests": {GPU: gpus}, **more}]}


def count(
    asked: Question,
    *,
    wanted: Job | None = None,
    moves: int | None = None,
    model: Model | None = None,
    seconds: float = 20.0,
    engine: Any = "auto",
) -> Capacity:
    rules = model or load_model("mixed")
    deadline = Deadline.within(seconds)
    options = Options(engine=engine)
    return capacity(asked, rules, wanted or job_of(asked, None, rules), moves, options, deadline)


def numbers(found: Capacity) -> list[tuple[int, int, int]]:
    """Copies, bound and moves of each answer."""
    return [(room.jobs, room.bound, room.moves) for room in found.rooms]


HALF_FREE = question(
    [node("a"), node("b"), node("c", rack="r2"), node("d", rack="r2")],
    [running("x", "a", 4), running("y", "b", 4), running("z", "c", 2), running("w", "d", 6)],
    [job()],
    topology=RACKS,
)
"""16 of 32 GPUs are free, no node is: two moves empty two nodes."""


def test_more_fit_after_moves_and_most_after_defragmentation() -> None:
    found = count(HALF_FREE, moves=1)
    assert numbers(found) == [(0, 0, 0), (1, 1, 1), (2, 2, 2)]
    assert [room.status for room in found.rooms] == ["OPTIMAL"] * 3
    assert all(room.fewest_moves for room in found.rooms)
    now, some_moves, every = (room.one_more for room in found.rooms)
    assert now is not None
    assert (now.rule, "0 of 4 nodes fit: 4 nvidia.com/gpu" in now.message) == ("capacity", True)
    assert some_moves is not None
    assert some_moves.rule == "limits"
    assert some_moves.message.startswith("moves: no plan moves at most 1 pod for one more; 0 of 4")
    assert every is not None
    assert every.rule == "capacity"


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    assert numbers(count(HALF_FREE, moves=5)) == [(0, 0, 0), (2, 2, 2), (2, 2, 2)]
    assert numbers(count(HALF_FREE, moves=0)) == [(0, 0, 0), (0, 0, 0), (2, 2, 2)]


def test_gangs_are_counted_whole_and_each_within_its_domain() -> None:
    nodes = [node("a"), node("b"), node("c"), node("d", rack="r2"), node("e", rack="r3")]
    loose = question(nodes, [], [job(2)], topology=RACKS)
    assert numbers(count(loose)) == [(2, 2, 0)] * 3
    held = question(nodes, [], [job(2, topologyRequest={"required": "rack"})], topology=RACKS)
    found = count(held)
    assert numbers(found) == [(1, 1, 0)] * 3
    (rack, single) = found.levels
    assert (rack.level, rack.pods, rack.jobs, rack.largest_gang) == ("rack", 5, 1, 3)
    assert [(each.pods, each.domains) for each in rack.histogram] == [(1, 2), (3, 1)]
    fullest = rack.fullest[0]
    assert (fullest.domain, fullest.pods, fullest.jobs) == ("r1", 3, 1)
    assert (single.level, single.jobs, single.largest_gang) == ("node", 0, 1)
    assert found.largest_gang == 5


@pytest.mark.parametrize(("rules", "most"), [({"topology": "off"}, 3), ({"slices": "off"}, 1)])
def test_gangs_are_held_by_the_rules_of_the_model_only(rules: dict[str, str], most: int) -> None:
    nodes = [node("a"), node("b"), node("c"), node("d", rack="r2"), node("e", rack="r3")]
    nodes.append(node("f", rack="r4"))
    held = question(nodes, [], [job(2, topologyRequest={"required": "rack"})], topology=RACKS)
    mixed = load_model("mixed")
    model = mixed.model_copy(update={"rules": mixed.rules.model_copy(update=rules)})
    found = count(held, model=model)
    assert numbers(found) == [(most, most, 0)] * 3


def test_slices_count_only_where_the_rule_is_on() -> None:
    request = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}
    nodes = [node("a"), node("b"), node("c"), node("d", rack="r2"), node("e", rack="r3")]
    asked = question(nodes, [], [job(4, topologyRequest=request)], topology=RACKS)
    assert numbers(count(asked)) == [(0, 0, 0)] * 3
    mixed = load_model("mixed")
    off = mixed.model_copy(update={"rules": mixed.rules.model_copy(update={"slices": "off"})})
    assert numbers(count(asked, model=off)) == [(1, 1, 0)] * 3


def test_gangs_in_racks_find_room_by_moves() -> None:
    nodes = [node("a"), node("b"), node("c", rack="r2"), node("d", rack="r2")]
    asked = question(
        nodes,
        [running("x", "a", 2), running("y", "c", 2)],
        [job(2, topologyRequest={"required": "rack"})],
        topology=RACKS,
    )
    assert numbers(count(asked)) == [(0, 0, 0), (1, 1, 1), (1, 1, 1)]


def test_a_full_cluster_has_room_for_none() -> None:
    full = question([node("a"), node("b")], [running("x", "a", 8), running("y", "b", 8)], [job()])
    found = count(full)
    assert numbers(found) == [(0, 0, 0)] * 3
    assert found.verdict is not None
    assert found.verdict.status == "WAITS"
    assert [each.pods for level in found.levels for each in level.fullest] == []


def test_a_cluster_without_nodes_has_room_for_none() -> None:
    found = count(question([], [], [job()]))
    assert numbers(found) == [(0, 0, 0)] * 3
    assert found.verdict is not None
    assert found.verdict.status == "NEVER"
    assert found.largest_gang == 0


def test_a_job_that_never_fits_says_why_as_explain_does() -> None:
    found = count(question([node("a")], [], [job(gpus=9)]))
    assert found.rooms[0].one_more is not None
    assert "never on this hardware" in found.rooms[0].one_more.message
    assert found.verdict is not None
    assert found.verdict.status == "NEVER"


def test_nobody_is_evicted_whatever_the_priority() -> None:
    low = running("x", "a", 8, priority=1)
    wanted = {**job(), "priority": 1000}
    assert numbers(count(question([node("a")], [low], [wanted]))) == [(0, 0, 0)] * 3


def test_pods_that_stay_are_not_moved() -> None:
    pinned = [running("x", "a", 4, movable=False), running("y", "b", 4, movable=False)]
    asked = question([node("a"), node("b")], pinned, [job()])
    assert numbers(count(asked)) == [(0, 0, 0)] * 3


def test_the_quota_of_the_queue_limits_what_fits_and_is_said() -> None:
    asked = question(
        [node("a"), node("b"), node("c")],
        [running("x", "a", 2, queueName="q")],
        [{**job(gpus=2), "queueName": "q"}],
        queues=[{"name": "q", "resources": [{"name": GPU, "nominalQuota": 9}]}],
    )
    found = count(asked)
    assert numbers(found) == [(3, 3, 0)] * 3
    assert found.quota_pods == 3
    assert [level.jobs for level in found.levels] == [3]
    assert found.largest_gang == 3
    assert found.levels[0].largest_gang == 3
    assert [level.pods for level in found.levels] == [11]
    for room in found.rooms:
        assert room.one_more is not None
        assert room.one_more.rule == "quota"
        assert room.one_more.message.startswith("queue q would need 10 of 9 nvidia.com/gpu")


def test_devices_are_counted_one_by_one() -> None:
    gpu = {"class": "gpu", "capacity": {"gpu-core": 100}}
    nodes = [{"name": n, "allocatable": {"cpu": 64}, "devices": [gpu, gpu]} for n in ("a", "b")]
    half = {"class": "gpu", "count": 2, "requests": {"gpu-core": 60}}
    share = {"class": "gpu", "requests": {"gpu-core": 50}}
    placed = {"count": 1, "devices": [share], "assignments": [{"node": "a", "devices": [0]}]}
    both = {"name": "j", "podSets": [{"count": 1, "devices": [half]}]}
    asked = question(nodes, [{"name": "x", "podSets": [placed]}], [both])
    assert numbers(count(asked)) == [(1, 1, 0)] * 3
    single = {"name": "j", "podSets": [{"count": 1, "devices": [share]}]}
    assert (
        numbers(count(question(nodes, [{"name": "x", "podSets": [placed]}], [single])))
        == [(7, 7, 0)] * 3
    )


def test_copies_of_several_pod_sets_start_together() -> None:
    podsets = [
        {"name": "launcher", "count": 1, "requests": {"cpu": 60}},
        {"name": "worker", "count": 2, "requests": {GPU: 4}},
    ]
    asked = question([node("a"), node("b"), node("c")], [], [{"name": "j", "podSets": podsets}])
    found = count(asked)
    assert numbers(found) == [(3, 3, 0)] * 3
    assert [(each.name, each.pods) for each in found.pod_sets] == [("launcher", 1), ("worker", 2)]
    assert {level.pod_set: level.pods for level in found.levels} == {"launcher": 3, "worker": 6}
    assert found.largest_gang is None


def test_an_elastic_gang_counts_with_its_least_pods() -> None:
    asked = question([node("a"), node("b"), node("c")], [], [job(3, minCount=1)])
    found = count(asked)
    assert numbers(found) == [(3, 3, 0)] * 3
    assert [each.pods for each in found.pod_sets] == [1]


def test_anti_affinity_among_copies_leaves_one_for_each_node() -> None:
    labels = {"matchLabels": {"app": "j"}}
    apart = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": labels}]
    nodes = [node("a"), node("b")]
    for each in nodes:
        each["labels"]["kubernetes.io/hostname"] = each["name"]
    wanted = job(gpus=1, labels={"app": "j"}, podAntiAffinity=apart)
    found = count(question(nodes, [], [wanted]))
    assert numbers(found) == [(2, 2, 0)] * 3
    assert any("rules between pods" in text for text in found.warnings)


def test_what_is_asked_for_without_limit_ends_somewhere_and_says_so() -> None:
    nothing = {"name": "j", "podSets": [{"count": 1}]}
    found = count(question([{"name": "a"}], [], [nothing]))
    assert found.rooms[0].jobs == MOST_PODS
    assert any(f"no more than {MOST_PODS} pods" in text for text in found.warnings)


def test_pending_jobs_are_left_aside() -> None:
    other = {"name": "other", "podSets": [{"count": 2, "requests": {GPU: 8}}]}
    asked = question([node("a"), node("b")], [], [job(), other])
    found = count(asked, wanted=asked.pending[0])
    assert numbers(found)[0] == (2, 2, 0)
    assert any("2 pending jobs are not counted" in text for text in found.warnings)


def test_the_time_being_up_makes_no_proof() -> None:
    found = count(HALF_FREE, seconds=-1.0)
    now, _, every = found.rooms
    assert (every.jobs, every.status) == (0, "FEASIBLE")
    assert now.bound <= every.bound
    assert any("time" in text for text in found.warnings)


def test_a_job_in_short_tolerates_taints_by_what_it_asks_for() -> None:
    """As the admission plug-in ExtendedResourceToleration has it: GPU nodes bear such a taint."""
    for key, fits in ((GPU, 1), ("dedicated", 0)):
        asked = question([node("a", taints=[{"key": key, "effect": "NoSchedule"}])], [], [])
        wanted = job_in_short(asked, Short(gpus=8))
        assert count(asked, wanted=wanted).rooms[0].jobs == fits


def test_a_job_in_short_asks_for_the_gpus_that_the_nodes_have() -> None:
    asked = question([node("a"), node("b")], [], [], topology=RACKS)
    wanted = job_in_short(asked, Short(pods=2, gpus=8, requests={"cpu": "4"}, required="rack"))
    assert numbers(count(asked, wanted=wanted))[0] == (1, 1, 0)
    with pytest.raises(UsageError, match="--required: found row, expected rack"):
        job_in_short(asked, Short(gpus=1, required="row"))
    with pytest.raises(UsageError, match="--queue: found q, expected a queue; the input has none"):
        job_in_short(asked, Short(gpus=1, queue="q"))
    mixed = question([node("a"), {"name": "b", "allocatable": {"amd.com/gpu": 8}}], [], [])
    with pytest.raises(UsageError, match="expected one kind of GPU"):
        job_in_short(mixed, Short(gpus=1))


# -- by brute force


def copies_by_hand(wanted: Job, number: int) -> tuple[Job, ...]:
    """Copies as gangs of their least pods, or of all where no pod needs another."""
    least = [p.count if p.min_count is None else p.min_count for p in wanted.pod_sets]
    least = least if any(least) else [p.count for p in wanted.pod_sets]
    podsets = tuple(
        podset.model_copy(update={"count": k, "min_count": k, "assignments": (), "pods": ()})
        for podset, k in zip(wanted.pod_sets, least, strict=True)
        if k
    )
    update = {"pod_sets": podsets, "preemption_policy": "Never", "start_time": None}
    return tuple(wanted.model_copy(update={**update, "name": f"copy-{i}"}) for i in range(number))


SEEDS = 48
BLOCKS = 4


@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_values_and_bounds_are_those_of_brute_force(block: int) -> None:
    proved = positive = 0
    for seed in range(block, SEEDS, BLOCKS):
        rng = random.Random(seed)
        snapshot, jobs, model = random_documents(seed)
        asked = Question("test.yaml", snapshot, jobs.jobs, model, None, ())
        wanted = rng.choice(asked.jobs)
        if wanted.min_count or sum(p.count for p in wanted.pod_sets) > 4:
            continue
        assert not why_not_placed(wanted, ())
        moves = rng.choice((0, 1, 2))
        found = count(asked, wanted=wanted, moves=moves, model=model)
        for room, limit in zip(found.rooms, (0, moves, None), strict=True):
            number = min(room.bound + 1, 2)
            pending = copies_by_hand(wanted, number)
            limits = model.limits.model_copy(update={"evictions": 0, "moves": limit})
            update = {
                "limits": limits,
                "pending": ("copy-*",),
                "required": (),
                "objectives": (
                    Objective.model_validate({"unplaced": {"by": "all", "unit": "job"}}),
                ),
            }
            rules = model.model_copy(update=update)
            alone = build_instance(snapshot, (), rules)
            instance = build_instance(snapshot, pending, rules)
            instance = replace(instance, budgets=alone.budgets)  # copies change no budget
            value, _ = best(instance)
            least, _ = best(alone)
            assert value is not None
            assert least is not None
            most = number - (value[0] - least[0])
            assert min(room.jobs, number) <= most <= min(room.bound, number), (seed, limit)
            proved += room.status == "OPTIMAL"
            positive += room.jobs > 0
    assert proved > 12
    assert positive > 4


FITS = {"as it stands": (True, True), "after moves": (False, True)}


@pytest.mark.parametrize("block", some(range(2)))
def test_a_copy_fits_where_explain_has_a_place_for_the_job(block: int) -> None:
    seen = set()
    for seed in range(block, 16, 2):
        snapshot, jobs, model = random_documents(seed)
        limits = model.limits.model_copy(update={"evictions": 0})
        model = model.model_copy(update={"limits": limits, "required": ()})
        for wanted in jobs.jobs[:2]:
            # Alone: that others wait as well is no matter of capacity.
            asked = Question("test.yaml", snapshot, (wanted,), model, None, ())
            name = f"{wanted.namespace}/{wanted.name}"
            *_, told = explain(asked, model, name, Deadline.within(20))
            now, some_moves, _ = count(asked, wanted=wanted, moves=limits.moves, model=model).rooms
            fits = now.jobs > 0, some_moves.jobs > 0
            yes = [each.question for each in told.verdict.answers if each.answer == "yes"]
            gentlest = yes[0] if yes else ""
            assert fits == FITS.get(gentlest, (False, False)), (seed, name)
            seen.add(fits)
    assert len(seen) > 1


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (job(gpus=2), 8),
        (job(pods=2, gpus=2, topologyRequest={"required": "rack"}), 4),
        (
            {"name": "j", "podSets": [{"count": 1, "requests": {GPU: 2}, "name": n} for n in "ab"]},
            4,
        ),
        (job(), 0),
    ],
    ids=["single", "gathered", "several", "none"],
)
def test_however_late_it_is_what_fits_as_it_stands_is_counted(
    wanted: dict[str, Any], fits: int
) -> None:
    asked = replace(HALF_FREE, pending=question([], [], [wanted]).pending)
    found = count(asked, seconds=-1.0)
    assert [room.jobs for room in found.rooms] == [fits] * 3
    assert all(room.bound >= fits and room.moves == 0 for room in found.rooms)
    shown = max((level.jobs or 0) for level in found.levels)
    assert found.rooms[0].jobs >= shown
