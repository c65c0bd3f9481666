"""With some rules switched off all that is proved holds for what brute force finds without them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from math import prod

import pytest

from kantopt.clock import Deadline
from kantopt.cp.relaxed.bounds import relaxed_bounds
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.search.slots.generation import Generation
from kantopt.verify.metrics import bounds, measure
from kantopt.verify.slots.program import program_of
from kantopt.verify.slots.rooms import rooms_of
from tests.agreement.test_goals import with_goals, with_jobs_to_place
from tests.campaign import some
from tests.device_questions import device_question
from tests.generate import random_instance, rules_off, without
from tests.oracle import Value, best, job_options
from tests.solved import agrees
from tests.verify.test_required_nodes import drawn
from tests.vm_questions import vm_question

MOST_PLACEMENTS = 20_000
MAKERS: dict[str, Callable[[int], Instance]] = {
    "any": random_instance,
    "goals": with_goals,
    "jobs to place": with_jobs_to_place,
    "required": lambda seed: drawn(seed, goals=bool(seed % 2)),
    "machines": lambda seed: vm_question(seed, of=("free", "in use")[seed % 2]),
    "devices": device_question,
}


def proved(instance: Instance, values: Value) -> Iterator[tuple[int, int, str]]:
    """Tiers with bounds for plans no worse than values above them, and what proves these."""
    tiers = tiers_of(instance)
    for t, low in enumerate(bounds(instance, tiers, values)):
        yield t, low, "arithmetic"
    told: dict[int, int] = {}
    relaxed_bounds(instance, tiers, values, Deadline(None), bound=told.__setitem__)
    for t, low in told.items():
        yield t, low, "relaxation"
    for t in range(len(tiers)):
        program = program_of(instance, tiers, values, t)
        rooms = None if program is None else rooms_of(program)
        if program is not None and rooms is not None:
            generation = Generation(program, rooms)
            while not generation.ended:
                generation.round()
            yield t, generation.bound, "columns"


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("block", some(range(12)))
def test_no_bound_is_above_what_brute_force_finds(kind: str, block: int) -> None:
    told = Counter[str]()
    for seed in range(block, 240, 12):
        instance = MAKERS[kind](seed)
        # Devices are asked about with all rules as well: nobody else draws so many.
        instance = without(instance, *(() if kind == "devices" and seed % 2 else rules_off(seed)))
        if prod(len(job_options(instance, job)) for job in instance.jobs) > MOST_PLACEMENTS:
            continue
        value, _ = best(instance)
        if value is None:
            continue
        slack = measure(instance, instance.current, tiers_of(instance))
        for values in {value, tuple(map(max, value, slack))}:
            for t, low, by in proved(instance, values):
                told[by] += low > 0
                said = f"seed {seed}, {by}: {tiers_of(instance)[t].name}"
                assert low <= value[t], said
    assert told.total() >= 5, told


@pytest.mark.parametrize("kind", ["any", "goals", "devices"])
@pytest.mark.parametrize("block", some(range(12)))
def test_search_proves_what_brute_force_finds(kind: str, block: int) -> None:
    for seed in range(block, 240, 12):
        instance = without(MAKERS[kind](seed), *rules_off(seed))
        if prod(len(job_options(instance, job)) for job in instance.jobs) <= MOST_PLACEMENTS:
            agrees(instance, f"seed {seed}")
