"""Queues with parents, of Volcano and KAI: their sum keeps the limit above, each its own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kantopt.errors import BadDataError
from kantopt.formats.exports import EXPORTS
from kantopt.formats.imported import Imported
from kantopt.formats.kubernetes.queue_trees import Placed, placed_of, with_parents
from kantopt.formats.notes import Notes
from kantopt.schema.snapshot import Queue, QueueResource
from tests.formats.cluster_objects import Object, noted, read, thing

VOLCANO = "scheduling.volcano.sh/v1beta1"
Rows = list[tuple[str, int | str, int | str | None, int | str | None]]


def queue(name: str, cpu: int | None = None, parent: str = "", **spec: Any) -> Object:
    if cpu is not None:
        spec["capability"] = {"cpu": str(cpu)}
    return thing(VOLCANO, "Queue", name, "", **spec, **({"parent": parent} if parent else {}))


def rows(imported: Imported) -> dict[str, tuple[str, Rows]]:
    return {
        item.name: (
            item.cohort,
            [(r.name, r.nominal_quota, r.borrowing_limit, r.lending_limit) for r in item.resources],
        )
        for item in imported.snapshot.queues
    }


def test_queues_below_a_limit_borrow_all_of_it_and_no_more_than_their_own() -> None:
    found = read(queue("top", 10), queue("a", 6, "top"), queue("b", None, "top"), queue("c", 3))
    assert rows(found) == {
        "top": ("top", [("cpu", 10, None, None)]),
        "a": ("top", [("cpu", 0, 6, None)]),
        "b": ("top", [("cpu", 0, None, None)]),
        "c": ("", [("cpu", 3, None, None)]),
    }


def test_what_a_queue_is_guaranteed_is_its_own_and_nobody_borrows_it() -> None:
    own = {"guarantee": {"resource": {"cpu": "2"}}}
    found = read(queue("top", 10), queue("a", 6, "top", **own), queue("b", None, "top"))
    assert rows(found) == {
        "top": ("top", [("cpu", 8, None, None)]),
        "a": ("top", [("cpu", 2, 4, 0)]),
        "b": ("top", [("cpu", 0, None, None)]),
    }


def test_a_limit_of_its_own_on_what_the_queue_above_does_not_limit_stays() -> None:
    child = queue("a", None, "top", capability={"memory": "8Gi"})
    found = read(queue("top", 10), child)
    assert rows(found)["a"] == ("top", [("cpu", 0, None, None), ("memory", "8Gi", 0, None)])


def test_queues_above_without_limits_are_passed_and_a_second_with_them_is_told() -> None:
    low = queue("low", None, "middle")
    found = read(queue("top", 10), queue("middle", None, "top"), low)
    assert rows(found)["low"] == ("top", [("cpu", 0, None, None)])
    imported = read(queue("top", 10), queue("middle", 5, "top"), low)
    assert rows(imported)["low"][0] == "middle"
    assert "(top of low)" in noted(imported, "above another one with limits")


def test_a_circle_of_parents_ends_and_root_needs_no_object() -> None:
    found = read(queue("a", 1, "b"), queue("b", 2, "a"), queue("c", 3, "root"))
    assert [item.cohort for item in found.snapshot.queues] == ["a", "b", ""]
    assert not any("not in the input set no limit" in line for line in found.notes)


@pytest.mark.parametrize("parent", ["", "free"])
def test_a_guarantee_that_no_limit_above_can_give_is_told(parent: str) -> None:
    own = {"guarantee": {"resource": {"cpu": "2"}}}
    imported = read(queue("free"), queue("a", 6, parent, **own))
    assert rows(imported)["a"] == ("", [("cpu", 6, None, None)])
    assert "(a)" in noted(imported, "guaranteed shares")


def kai(name: str, parent: str = "", **gpu: Any) -> Object:
    resources = {"gpu": {"quota": 0, **gpu}}
    return thing("scheduling.run.ai/v2", "Queue", name, "", resources=resources, parentQueue=parent)


def test_a_department_of_kai_limits_its_queues_together() -> None:
    found = read(kai("dept", limit=16), kai("a", "dept", limit=12), kai("b", "dept", limit=-1))
    gpu = "nvidia.com/gpu"
    assert rows(found) == {
        "dept": ("dept", [(gpu, 16, None, None)]),
        "a": ("dept", [(gpu, 0, 12, None)]),
        "b": ("dept", [(gpu, 0, None, None)]),
    }


def test_kai_weighs_what_is_over_quota() -> None:
    (found,) = read(kai("a", overQuotaWeight=2.5)).snapshot.queues
    assert found.weight == "2500m"
    with pytest.raises(BadDataError, match="overQuotaWeight"):
        read(kai("a", overQuotaWeight=-2))


AMOUNTS = st.integers(0, 6)


@st.composite
def trees(draw: st.DrawFn) -> list[Placed]:
    def made(name: str, most: int | None, parent: str = "", least: int = 0) -> Placed:
        limits = () if most is None else (QueueResource(name="pods", nominal_quota=most),)
        own = {"pods": least} if least else {}
        return Placed(Queue(name=name, resources=limits), parent, own)

    leaves = []
    for i in range(draw(st.integers(1, 3))):
        most = draw(st.none() | AMOUNTS)
        least = draw(st.integers(0, 2 if most is None else min(2, most)))
        leaves.append(made(f"q{i}", most, "top", least))
    above = sum(item.guarantee.get("pods", 0) for item in leaves) + draw(AMOUNTS)
    return [made("top", above), *leaves, made("other", draw(st.none() | AMOUNTS))]


def allowed(placed: list[Placed], used: list[int]) -> bool:
    """Whether the leaves of a tree may use so much, by the words of these systems."""
    top, *leaves = placed[:-1]
    most = int(top.queue.resources[0].nominal_quota)
    least = [item.guarantee.get("pods", 0) for item in leaves]
    own = all(
        n <= int(row.nominal_quota)
        for item, n in zip(leaves, used, strict=True)
        for row in item.queue.resources
    )
    # What is guaranteed to somebody is not there for others, whether it is used or not.
    return own and sum(max(n, g) for n, g in zip(used, least, strict=True)) <= most


def allowed_by_cohort(queues: list[Queue], used: list[int]) -> bool:
    """Whether rule R7 lets the leaves use so much (``models/README.md``)."""
    shared = over = 0
    for item, n in zip(queues[:-1], [0, *used], strict=True):
        (row,) = item.resources
        nominal, borrow = int(row.nominal_quota), row.borrowing_limit
        keep = 0 if row.lending_limit is None else max(0, nominal - int(row.lending_limit))
        if borrow is not None and n > nominal + int(borrow):
            return False
        shared, over = shared + nominal - keep, over + max(0, n - keep)
    return over <= shared


@settings(max_examples=200)
@given(placed=trees(), data=st.data())
def test_a_cohort_allows_exactly_what_the_tree_does(placed: list[Placed], data: Any) -> None:
    queues = list(with_parents(placed, Notes()))
    used = [data.draw(st.integers(0, 8)) for _ in placed[1:-1]]
    assert allowed_by_cohort(queues, used) is allowed(placed, used)


@settings(max_examples=100)
@given(placed=trees())
def test_a_tree_comes_back_as_it_was(placed: list[Placed]) -> None:
    queues = list(with_parents(placed, Notes()))
    assert placed_of(queues) == placed
    assert list(with_parents(placed_of(queues), Notes())) == queues


@pytest.mark.parametrize("system", ["volcano", "kai"])
@settings(max_examples=30)
@given(placed=trees())
def test_what_is_written_of_a_tree_is_read_again(system: Any, placed: list[Placed]) -> None:
    def of_cpu(item: Queue) -> Queue:
        cpu = [row.model_copy(update={"name": "cpu"}) for row in item.resources]
        return item.model_copy(update={"resources": tuple(cpu)})

    queues = [of_cpu(item) for item in with_parents(placed, Notes())]
    base = read().snapshot.model_copy(update={"queues": tuple(queues)})
    lost = {line.partition(":")[0] for line in EXPORTS[system].write(base, [])[1].lines(3)}
    guaranteed = any(item.guarantee for item in placed)
    # KAI has no word for what a queue is guaranteed.
    assert bool(lost) is (system == "kai" and guaranteed)
