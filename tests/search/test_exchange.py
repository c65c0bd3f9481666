"""Jobs that wait take the nodes of one that is placed, if together they ask for as many GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantopt.clock import Deadline
from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.extends import load_model
from kantopt.search.construct import How, construct
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.exchange import exchange, most_that_add_up
from kantopt.search.portfolio import run_portfolio
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from scripts.bench.gangs import kant
from tests.gang_questions import OBJECTIVES, gang_question
from tests.search.helpers import FOREVER, built, where
from tests.verify.world import Document, job, node, pods, question

FOUR_NODES = [node(f"n{k}", gpu=8) for k in range(4)]


def exchanged(instance: Instance, placement: Placement) -> Placement:
    """Exchange, and insist on a legal placement that leaves no more of anything out."""
    tiers = tiers_of(instance)
    found = exchange(instance, placement, tiers, FOREVER)
    assert check(instance, found) == []
    assert measure(instance, found, tiers) <= measure(instance, placement, tiers)
    return found


def gang(name: str, count: int, **more: object) -> Document:
    return job(name, pods(count=count, cpu=0, gpu=8), **more)


def test_four_small_jobs_take_the_nodes_of_a_large_one() -> None:
    """With GPUs before jobs the gang of four comes first; four of one node use as many GPUs."""
    jobs = [gang("large", 4), *(gang(f"small-{k}", 1) for k in range(4))]
    instance = question(FOUR_NODES, jobs, objectives=OBJECTIVES)
    first = built(instance)
    assert len(where(instance, first, "large")) == 4
    found = exchanged(instance, first)
    assert where(instance, found, "large") == {}
    assert [len(where(instance, found, f"small-{k}")) for k in range(4)] == [1] * 4


def test_the_portfolio_exchanges() -> None:
    jobs = [gang("large", 4), *(gang(f"small-{k}", 2) for k in range(2))]
    instance = question(FOUR_NODES, jobs, objectives=OBJECTIVES)
    best = Incumbent(instance, tiers_of(instance), instance.current)
    run_portfolio(best, FOREVER, ())
    assert where(instance, best.placement, "large") == {}


def test_of_many_that_wait_only_as_many_are_looked_at_as_could_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []

    def counted(counts: Mapping[int, int], total: int) -> dict[int, int]:
        looked.append(sum(counts.values()))
        return most_that_add_up(counts, total)

    monkeypatch.setattr(f"{exchange.__module__}.most_that_add_up", counted)
    jobs = [gang("large", 4), *(gang(f"small-{k}", 1 + k % 2) for k in range(40))]
    instance = question(FOUR_NODES, jobs, objectives=OBJECTIVES)
    exchanged(instance, built(instance))
    assert looked == [4 + 2]


@pytest.mark.parametrize("hopeless", [0, 20])
def test_many_jobs_that_have_to_be_close_do_not_hide_those_that_may_be_anywhere(
    hopeless: int,
) -> None:
    """Each rack has room for one node: pairs that must be in one rack find no place there."""
    nodes = [node(f"n{k}", gpu=8, rack=f"x/r{k}") for k in range(4)]
    close, apart = ({"topologyRequest": {kind: "rack"}} for kind in ("required", "preferred"))
    jobs = [
        gang("large", 4),
        *(job(f"close-{k}", pods(count=2, cpu=0, gpu=8, **close)) for k in range(hopeless)),
        *(job(f"pair-{k}", pods(count=2, cpu=0, gpu=8, **apart)) for k in range(2)),
    ]
    instance = question(nodes, jobs, objectives=OBJECTIVES)
    found = exchanged(instance, built(instance))
    assert [len(where(instance, found, f"pair-{k}")) for k in range(2)] == [2, 2]


def close(name: str, count: int) -> Document:
    """A gang of whole nodes that must be in one rack."""
    return gang(name, count, topologyRequest={"required": "rack"})


def exchanged_on(racks: str, *jobs: Document) -> set[str]:
    """Jobs that have places after one as large as all nodes gave way, if it did.

    ``racks`` has a letter for each node.
    """
    nodes = [node(f"n{k}", gpu=8, rack=f"x/{rack}") for k, rack in enumerate(racks)]
    instance = question(nodes, [gang("large", len(nodes)), *jobs], objectives=OBJECTIVES)
    first = built(instance, largest_first=True)
    assert where(instance, first, "large")
    found = exchanged(instance, first)
    names = [each["name"] for each in jobs]
    return {name for name in names if where(instance, found, name)}


@pytest.mark.parametrize("last", [False, True])
def test_who_may_be_anywhere_is_chosen_first_and_placed_last(
    monkeypatch: pytest.MonkeyPatch, last: bool
) -> None:
    """One rack has two nodes: of those that must be in a rack one has a place, if that is free."""
    monkeypatch.setattr("kantopt.search.exchange._MOST_FAILED", 1)
    jobs = [close("close-0", 2), close("close-1", 2)]
    jobs.insert(2 if last else 0, gang("anywhere", 2))
    assert exchanged_on("aabc", *jobs) == {"anywhere", "close-0"}


def test_with_one_that_has_no_place_all_that_are_as_hard_to_place_are_given_up() -> None:
    """No rack has two nodes; one and three that may be anywhere are as many jobs as two pairs."""
    hopeless = [close(f"close-{k}", 2) for k in range(20)]
    jobs = [gang("pair", 2), *hopeless, gang("one", 1), gang("three", 3)]
    assert exchanged_on("abcd", *jobs) == {"one", "three"}


def test_who_is_smaller_than_one_that_has_no_place_may_have_one() -> None:
    """No rack holds four, each holds three."""
    jobs = [gang("one", 1), gang("two", 1), close("four", 4), close("x", 3), close("y", 3)]
    assert exchanged_on("aaabbb", *jobs) == {"x", "y"}


def test_who_had_a_place_is_not_given_up_with_the_next_that_is_as_hard_to_place() -> None:
    """One of three pairs has the rack of two nodes, and four that may be anywhere the others."""
    pairs = [close(f"close-{k}", 2) for k in range(3)]
    assert exchanged_on("aabcde", *pairs, gang("four", 4)) == {"close-0", "four"}


@pytest.mark.parametrize("why", ["it must be placed", "it matters more"])
def test_a_large_job_keeps_its_nodes_where(why: str) -> None:
    matters = why == "it matters more"
    jobs = [gang("large", 4, priority=5 if matters else 0), gang("one", 2), gang("two", 2)]
    required = [] if matters else ["large"]
    instance = question(FOUR_NODES, jobs, objectives=OBJECTIVES, required=required)
    first = built(instance)
    assert exchanged(instance, first) is first


def test_jobs_that_evict_nobody_do_not_take_the_nodes_of_victims() -> None:
    runs = job("runs", pods(count=4, cpu=0, gpu=8, on=[f"n{k}" for k in range(4)]))
    modest = {"priority": 5, "preemptionPolicy": "Never"}
    jobs = [runs, gang("large", 4, priority=5), gang("one", 2, **modest), gang("two", 2, **modest)]
    instance = question(FOUR_NODES, jobs, objectives=OBJECTIVES)
    first = built(instance)
    assert where(instance, first, "runs") == {}
    assert exchanged(instance, first) is first


def test_nothing_is_exchanged_where_no_objective_counts_jobs() -> None:
    jobs = [gang("large", 4), gang("small-0", 2), gang("small-1", 2)]
    instance = question(FOUR_NODES, jobs, objectives=["unplaced"])
    first = built(instance)
    assert exchange(instance, first, tiers_of(instance), FOREVER) is first


@pytest.mark.parametrize("seed", range(60))
def test_tiny_clusters_lose_nothing(seed: int) -> None:
    instance = gang_question(seed)
    exchanged(instance, built(instance))


def test_a_cluster_places_many_more_jobs_with_as_many_gpus() -> None:
    documents = kant(96, 0.85, 3, None)
    model = load_model("training")
    instance = build_instance(documents.snapshot, documents.pending, model, source="made")
    first = construct(instance, Deadline(None), How(Strategy.E_BINPACK, relocate=True))
    found = exchanged(instance, first)
    before, after = (measure(instance, p, tiers_of(instance)) for p in (first, found))
    assert after < before


@given(
    counts=st.dictionaries(st.integers(1, 6), st.integers(0, 4), max_size=3),
    total=st.integers(1, 24),
)
def test_as_many_as_possible_that_add_up(counts: dict[int, int], total: int) -> None:
    options = [
        dict(zip(counts, numbers, strict=True))
        for numbers in product(*(range(n + 1) for n in counts.values()))
    ]
    most = max(
        (sum(o.values()) for o in options if sum(s * n for s, n in o.items()) == total), default=0
    )
    found = most_that_add_up(counts, total)
    assert all(n <= counts[size] for size, n in found.items())
    assert sum(found.values()) == most
    assert not found or sum(size * n for size, n in found.items()) == total
