"""Hundreds of priorities: a tier costs its own jobs, not all jobs there are."""

from __future__ import annotations

import pytest

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.search.engine.known import Known
from kantopt.verify import metrics
from kantopt.verify.bounds import shortage
from kantopt.verify.metrics import bound_of, bounds, measure, values_above
from tests.verify.world import job, node, pods, question


def of_priorities(most: int) -> Instance:
    jobs = [job(f"waits-{p}", pods(gpu=1), priority=p) for p in range(most)]
    jobs += [job(f"runs-{p}", pods(gpu=1, on=["a"]), priority=p) for p in range(8)]
    return question([node("a", cpu=1000, gpu=8)], jobs)


def asked_of(most: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Count the jobs that tiers are asked about until a plan is judged and bounded."""
    instance, asked = of_priorities(most), 0
    concerns = Tier.concerns

    def counting(tier: Tier, job: object) -> bool:
        nonlocal asked
        asked += 1
        return concerns(tier, job)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Tier, "concerns", counting)
        tiers = tiers_of(instance)
        values = measure(instance, instance.current, tiers)
        assert measure(instance, instance.current, tiers) == values
        assert Known(instance, tiers).bounds(values) == bounds(instance, tiers, values)
    return asked


def test_tiers_ask_only_about_jobs_of_their_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (asked_of(most, monkeypatch) for most in (40, 160))
    assert many < 5 * few


def test_of_hundreds_of_tiers_above_the_nearest_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST_ABOVE", 8)
    instance = of_priorities(2 * metrics.MOST_ABOVE)
    tiers = tiers_of(instance)
    values = measure(instance, instance.current, tiers)
    i = len(tiers) - 1
    above = dict(zip(tiers[:i], values[:i], strict=True))
    assert len(values_above(tiers, values, i)) == metrics.NEAREST
    assert len(values_above(tiers, values, metrics.MOST_ABOVE)) == metrics.MOST_ABOVE
    assert bound_of(tiers[i], instance, above) == Known(instance, tiers).bounds(values)[i]


def test_below_many_priorities_no_mixtures_of_resources_are_priced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance = of_priorities(2 * shortage._MOST_MIXED)
    tiers = tiers_of(instance)
    values = measure(instance, instance.current, tiers)
    priced, trade = [0] * (len(tiers) + 1), shortage._trade

    def counting(tier: Tier, instance: Instance, held: tuple[Tier, ...], *rest: object) -> object:
        priced[len(held)] += 1
        return trade(tier, instance, held, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(shortage, "_trade", counting)
    bounds(instance, tiers, values)
    assert max(priced[: shortage._MOST_MIXED]) > len(instance.resources)
    assert max(priced[shortage._MOST_MIXED + 1 :]) <= len(instance.resources)
