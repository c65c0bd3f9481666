"""The quickstart tells the story that its comments promise."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from kantopt.clock import Deadline
from kantopt.planning.pictures import picture_of
from kantopt.planning.plan import make_plan
from kantopt.planning.question import chosen_model, judging_model, read_question
from kantopt.planning.solving.options import Options
from kantopt.report.picture import svg
from kantopt.schema.answers.plan import Plan

FOLDER = Path(__file__).parents[2] / "instances" / "quickstart"


@cache
def quickstart() -> Plan:
    question = read_question([str(FOLDER / "snapshot.yaml"), str(FOLDER / "jobs.yaml")])
    deadline = Deadline.within(10.0)
    return make_plan(question, chosen_model(question, None), Options(), deadline).plan


def nodes_of(job: str) -> dict[str, int]:
    return {item.node: item.count for item in quickstart().assignments if item.job == job}


def test_the_plan_is_proved_optimal() -> None:
    assert quickstart().solver.status == "OPTIMAL"
    assert all(tier.status == "OPTIMAL" for tier in quickstart().objectives)


def test_the_important_gang_costs_one_victim_rather_than_eight() -> None:
    assert nodes_of("research/llm-next") == {"gpu-10": 1, "gpu-11": 1, "gpu-12": 1}
    victims = [(item.job, item.count, item.for_job) for item in quickstart().evictions]
    assert victims == [("batch/backfill", 1, "research/llm-next")]


def test_a_small_job_moves_out_of_the_rack_that_a_gang_needs() -> None:
    assert nodes_of("research/vision") == {"gpu-05": 1, "gpu-06": 1}
    moves = [(item.job, item.from_node, item.to_node) for item in quickstart().moves]
    assert moves == [("research/probe", "gpu-06", "gpu-08")]


def test_the_elastic_job_starts_with_its_minimum() -> None:
    assert nodes_of("research/elastic") == {"gpu-07": 1, "gpu-08": 1}


def test_the_job_without_gpus_finds_its_six_places() -> None:
    assert sum(nodes_of("batch/index").values()) == 6


def test_what_stays_pending_is_named_with_a_reason() -> None:
    pending = {item.job: item for item in quickstart().unplaced}
    assert {job: item.pods for job, item in pending.items()} == {
        "research/too-big-for-a-rack": 4,
        "research/elastic": 2,
    }
    assert pending["research/too-big-for-a-rack"].rule == "topology"


def test_the_picture_in_the_readme_is_that_of_the_plan() -> None:
    files = [str(FOLDER / "snapshot.yaml"), str(FOLDER / "jobs.yaml")]
    question = replace(read_question(files), plan=quickstart())
    drawn = svg(picture_of(question, judging_model(question, None)))
    kept = FOLDER.parents[1] / "docs" / "quickstart.svg"
    assert kept.read_text() == drawn, "draw it anew: kantopt render ... --to svg"
