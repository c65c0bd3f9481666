"""Parts of random questions add up: optima, legality and values."""

from __future__ import annotations

import random

import pytest

from kantopt.problem.derived.parts import Part
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.search.parts.assembly import Assembly, justified, need_of
from kantopt.search.parts.division import parts_of, summed
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.campaign import some
from tests.generate import random_instance, rules_off, without
from tests.oracle import best
from tests.placements import random_placement
from tests.pools import pooled_instance
from tests.solved import solved


def optimum(instance: Instance, tiers: tuple[Tier, ...]) -> Placement | None:
    """Solve to the end; ``None`` if nothing is legal."""
    return solved(instance, tiers).placement


def added(constant: tuple[int, ...], parts: list[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(constant, *parts, strict=True)))


def divided(instance: Instance) -> tuple[tuple[Tier, ...], tuple[Part, ...]]:
    tiers = tiers_of(instance)
    tiers = tiers[: summed(instance, tiers)]
    return tiers, parts_of(instance, tiers) if tiers else ()


def asked(kind: str, seed: int) -> Instance:
    """A random question, such as several pools, or with some rules off."""
    if kind == "pools":
        return pooled_instance(seed)
    return without(random_instance(seed), *(rules_off(seed) if kind == "rules off" else ()))


@pytest.mark.parametrize("block", some(range(4)))
@pytest.mark.parametrize("kind", ["one", "pools", "rules off"])
def test_the_optima_of_the_parts_make_the_optimum_of_the_whole(kind: str, block: int) -> None:
    tried = 0
    for seed in range(block, 120, 4):
        instance = asked(kind, seed)
        tiers, parts = divided(instance)
        if len(parts) < 2:
            continue
        tried += 1
        for part in parts:
            standing = [i for i, s in enumerate(part.podsets) if s in part.share.bystanders]
            assert all(map(freedom_of(part.instance).fixed, standing)), f"seed {seed}"
        assembly = Assembly(instance, parts, tiers, None)
        found = [optimum(part.instance, tiers) for part in parts]
        if kind != "pools" and len(tiers) == len(tiers_of(instance)):
            expected = best(instance)[0]
        else:
            whole = optimum(instance, tiers)
            expected = None if whole is None else measure(instance, whole, tiers)
        if any(placement is None for placement in found):
            assert expected is None, f"seed {seed}"
            continue
        assert expected is not None, f"seed {seed}"
        for member, placement in zip(assembly.members, found, strict=True):
            assert placement is not None
            member.take(placement)
        bests = [member for member in assembly.members if not member.best.missing]
        total = added(assembly.constant, [member.best.values for member in bests])
        assert total <= expected, f"seed {seed}"
        if justified([member.need for member in bests]):
            assert total == expected, f"seed {seed}"
            lifted = assembly.placement()
            assert lifted is not None
            assert check(instance, lifted) == [], f"seed {seed}"
            assert measure(instance, lifted, tiers) == expected, f"seed {seed}"
    assert tried >= 5


@pytest.mark.parametrize("kind", ["one", "pools"])
def test_what_is_legal_in_all_parts_is_legal_and_adds_up(kind: str) -> None:
    verdicts = {True: 0, False: 0}
    for seed in range(100):
        instance = random_instance(seed) if kind == "one" else pooled_instance(seed)
        tiers, parts = divided(instance)
        if len(parts) < 2:
            continue
        constant = Assembly(instance, parts, tiers, None).constant
        rng = random.Random(seed)
        for _ in range(10):
            cuts = [random_part_placement(rng, part) for part in parts]
            podsets = list(instance.current.podsets)
            for part, cut in zip(parts, cuts, strict=True):
                part.lift(cut, podsets)
            lifted = Placement(tuple(podsets))
            assert [part.cut(lifted) for part in parts] == cuts, f"seed {seed}"
            needs = [need_of(part, cut) for part, cut in zip(parts, cuts, strict=True)]
            parts_say = justified(needs) and not any(
                check(part.instance, cut) for part, cut in zip(parts, cuts, strict=True)
            )
            assert (not check(instance, lifted)) is parts_say, f"seed {seed}"
            verdicts[parts_say] += 1
            if parts_say:
                values = [
                    measure(part.instance, cut, tiers)
                    for part, cut in zip(parts, cuts, strict=True)
                ]
                total = added(constant, values)
                assert measure(instance, lifted, tiers) == total, f"seed {seed}"
    assert min(verdicts.values()) >= 40, verdicts


def random_part_placement(rng: random.Random, part: Part) -> Placement:
    """A random placement of a part that changes nothing but what is the part's own."""
    still = part.cut(part.whole.current).podsets
    drawn = random_placement(rng, part.instance).podsets
    return Placement(
        tuple(
            old
            if i >= len(part.podsets)
            or part.podsets[i] in part.share.bystanders
            or any(spot.node >= len(part.share.nodes) for spot in new)
            else new
            for i, (old, new) in enumerate(zip(still, drawn, strict=True))
        )
    )
