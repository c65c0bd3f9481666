"""Features that bind nobody: they change no optimum, and all rules and fields are among them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

import pytest

from kantopt.problem.build import build_instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.base import Part
from kantopt.schema.consistency import check_model, check_snapshot
from kantopt.schema.job_consistency import check_jobs
from kantopt.schema.jobs import JobList
from kantopt.schema.model import Model, Rule
from kantopt.schema.snapshot import ClusterSnapshot, Node
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from scripts.bench.features.excused import EXCUSED
from scripts.bench.features.stated import (
    NotHereError,
    Stated,
    only_if,
    spare_places,
    waiting,
)
from scripts.bench.features.table import CONTROL, FEATURES
from tests.bench import tiny_questions
from tests.bench.tiny_questions import cluster
from tests.solved import solved

Optimum = dict[str, int]
QUESTIONS: dict[str, Callable[[], Stated]] = {
    "room-for-all": lambda: tiny_questions.packing(95, 1),
    "room-for-most": lambda: tiny_questions.packing(105, 3),
    "gangs": tiny_questions.gangs,
    "shares": tiny_questions.shares,
    "slots": tiny_questions.slots,
}
HARMLESS = [name for name in FEATURES if name != CONTROL]


@cache
def question(name: str) -> Stated:
    return QUESTIONS[name]()


@cache
def plain(name: str) -> Optimum:
    return optimum(question(name))


def optimum(stated: Stated) -> Optimum:
    """The proved value of each tier, in order."""
    instance = build_instance(stated.snapshot, stated.pending, stated.asked)
    tiers = tiers_of(instance)
    outcome = solved(instance, tiers)
    assert outcome.placement is not None
    assert not check(instance, outcome.placement)
    values = measure(instance, outcome.placement, tiers)
    assert values == outcome.bounds
    return {tier.name: value for tier, value in zip(tiers, values, strict=True)}


@pytest.mark.parametrize(("name", "kind"), list(product(HARMLESS, QUESTIONS)))
def test_a_feature_changes_no_optimum(name: str, kind: str) -> None:
    feature = FEATURES[name]
    expected = plain(kind)
    if feature.if_all_placed and any(
        value for tier, value in expected.items() if tier.startswith("unplaced")
    ):
        pytest.skip("the best plan leaves pods out")
    try:
        stated = feature.change(question(kind))
    except NotHereError:
        pytest.skip("could bind somebody here")
    found = optimum(stated)
    assert {tier: found[tier] for tier in expected} == expected
    assert [tier for tier in found if tier in expected] == list(expected)


def said(part: object) -> Iterator[str]:
    """Fields of a document, of all its parts, that say something else than their default."""
    if isinstance(part, tuple | list):
        for each in part:
            yield from said(each)
    if not isinstance(part, Part):
        return
    for name, field in type(part).model_fields.items():
        value = getattr(part, name)
        if value is not None and value != field.get_default(call_default_factory=True):
            yield f"{owner(type(part), name)}.{name}"
            yield from said(value)


def owner(part: type[Part], name: str) -> str:
    """Name of the class that a field was written in first, below those with only a few fields."""
    classes = [c for c in part.__mro__ if issubclass(c, Part) and name in c.model_fields]
    return classes[-1].__name__


def parts_of(annotation: object) -> Iterator[type[Part]]:
    """Classes of parts that a type is made of."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for each in getattr(annotation, "__args__", ()):
        yield from parts_of(each)


def all_fields() -> set[str]:
    """Every field of the documents of a question."""
    todo: list[type[Part]] = [ClusterSnapshot, JobList, Model]
    known: set[type[Part]] = set()
    found = set()
    while todo:
        part = todo.pop()
        if part in known:
            continue
        known.add(part)
        for name, field in part.model_fields.items():
            found.add(f"{owner(part, name)}.{name}")
            todo.extend(parts_of(field.annotation))
    return found


@cache
def fields_in_use() -> frozenset[str]:
    """Fields that plain questions or features say something in."""
    found: set[str] = set()
    for kind, feature in product(QUESTIONS, FEATURES.values()):
        try:
            made = feature.change(question(kind))
        except NotHereError:
            continue
        for part in (made.snapshot, *made.pending, made.asked):
            found.update(said(part))
    return frozenset(found)


def test_every_field_has_a_feature_or_a_reason_why_none_of_it_is_harmless() -> None:
    missing = sorted(all_fields() - fields_in_use() - set(EXCUSED))
    assert not missing, f"no feature and no excuse: {missing}"


def test_no_field_is_excused_that_has_a_feature_or_is_none() -> None:
    used, gone = sorted(set(EXCUSED) & fields_in_use()), sorted(set(EXCUSED) - all_fields())
    assert not used, f"excused, though a feature says something in it: {used}"
    assert not gone, f"excused, though there is no such field: {gone}"


def test_every_rule_has_a_feature() -> None:
    missing = sorted(set(Rule) - {rule for each in FEATURES.values() for rule in each.rules})
    assert not missing, f"no feature: {missing}"


@pytest.mark.parametrize("name", HARMLESS)
def test_a_feature_adds_something_and_contradicts_nothing(name: str) -> None:
    made = []
    for kind in QUESTIONS:
        with contextlib.suppress(NotHereError):
            made.append((FEATURES[name].change(question(kind)), question(kind)))
    assert any(stated != before for stated, before in made)
    for stated, _ in made:
        problems = check_snapshot(stated.snapshot, "snapshot")
        problems += check_jobs(stated.pending, stated.snapshot, "jobs")
        assert not problems + check_model(stated.asked, "model")


def test_a_feature_that_could_bind_somebody_is_not_added() -> None:
    once = FEATURES["budget-allowed"].change(question("gangs"))
    with pytest.raises(NotHereError):  # a pod under two budgets may not be evicted
        FEATURES["budget-per-job"].change(once)
    with pytest.raises(NotHereError):  # its jobs become gangs, which a metric counts
        FEATURES["min-count-one"].change(question("gangs"))
    with pytest.raises(NotHereError):
        only_if(False)


def node(places: int | None) -> Node:
    return Node(name="n", allocatable={} if places is None else {"pods": places})


@pytest.mark.parametrize(
    ("places", "taken", "more", "spare"),
    [
        ((4, 4), 7, 1, True),
        ((4, 4), 8, 1, False),
        ((4, 4), 3, 2, True),
        ((4, 4), 4, 2, False),  # all four may be on one node, and none is left there
        ((9, 1), 1, 2, False),  # the one place of the small node may be taken
        ((None, None), 99, 2, True),
        ((None, 4), 99, 2, False),
        ((9,), 1, 2, False),
    ],
)
def test_who_waits_finds_a_place_wherever_others_are(
    places: tuple[int | None, ...], taken: int, more: int, spare: bool
) -> None:
    assert spare_places(cluster(tuple(map(node, places))), taken, more) == spare


def test_who_waits_is_not_added_where_places_might_be_short() -> None:
    with pytest.raises(NotHereError):
        waiting(Stated(cluster((node(1),))), "late", 2)
