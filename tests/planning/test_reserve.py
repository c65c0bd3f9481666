"""How much time is kept for the end of a run: by what there is to write."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.cli.options import Form
from kantopt.cli.shown import Shown
from kantopt.clock import Deadline
from kantopt.planning import run as runs
from kantopt.planning.options import Options
from kantopt.planning.run import Run
from kantopt.problem.tiers import tiers_of
from tests.verify.world import job, node, pods, question


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Seconds kept for writing what becomes of some jobs; judging is left aside."""
    monkeypatch.setattr(runs, "JUDGINGS", 0)

    def seconds(*jobs: Any, in_yaml: bool = True) -> float:
        instance = question([node("a", cpu=2000)], jobs, limits={"evictions": 0})
        asked = instance, tiers_of(instance), Options(in_yaml=in_yaml), Deadline.within(1000.0)
        return Run(*asked, lambda _: None, None).reserve

    return seconds


def test_writing_many_jobs_takes_longer_than_as_many_pods_of_one(kept: Any) -> None:
    """Fourteen thousand jobs of a pod each take 4 to 6 s of a processor in YAML, gangs 1."""
    few, gang = kept(job("one")), kept(job("gang", pods(count=1200)))
    many = kept(*(job(f"one-{k}") for k in range(1200)))
    assert gang - few == pytest.approx(1000 * 0.0001)
    assert many - few == pytest.approx(1000 * 0.0004 + 1199 * 0.0001)


def test_other_forms_than_yaml_are_written_in_a_tenth_of_the_time(kept: Any) -> None:
    jobs = [job(f"one-{k}") for k in range(1200)]
    assert kept(*jobs) - kept(*jobs, in_yaml=False) == pytest.approx(0.9 * 1000 * 0.0004)


def test_the_form_of_an_answer_has_no_say_in_it() -> None:
    """So a plan of the run before answers, whatever it was written as."""
    assert Options(in_yaml=True).of_the_answer() == Options().of_the_answer()
    assert Options(seed=1).of_the_answer() != Options().of_the_answer()


@pytest.mark.parametrize(
    ("form", "path", "in_yaml"),
    [
        (None, None, False),
        ("yaml", None, True),
        ("json", "plan.yaml", False),
        ("table", "plan.yaml", False),
        (None, "plan.yaml", True),
        (None, "plan", True),
        (None, "plan.json", False),
        (None, "page.HTML", False),
    ],
)
def test_a_document_is_in_yaml_if_asked_for_or_for_a_file_of_no_other_name(
    form: Form | None, path: str | None, in_yaml: bool
) -> None:
    assert Shown(form, path, "auto", quiet=False).in_yaml == in_yaml


def test_time_is_kept_for_each_job_that_runs_and_each_victim(kept: Any) -> None:
    """A plan names by what it is known which jobs run, and for whom each victim goes."""
    running = [job(f"r-{k}", pods(on=["a"])) for k in range(1000)]
    assert kept(job("one"), *running) - kept(job("one")) == pytest.approx(1000 * 0.0001)
    instance = question([node("a", cpu=2000)], [job("gang", pods(count=100))])
    asked = instance, tiers_of(instance), Options(), Deadline.within(1000.0)
    victims = Run(*asked, lambda _: None, None).reserve
    assert victims - kept(job("gang", pods(count=100))) == pytest.approx(100 * 0.005)
