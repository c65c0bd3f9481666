"""The shipped models load, say what they mean, and are stated in full by their README."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from kantopt.planning.question import read_question
from kantopt.problem.tiers import tiers_of
from kantopt.schema.extends import load_model, models_folder, shipped_models
from kantopt.schema.model import Metric, Rule
from kantopt.schema.published import published_schema
from kantopt.verify.metrics import MEASURES, measure
from kantopt.verify.rules import CHECKS

ROOT = Path(__file__).parents[2]
QUICKSTART = [str(path) for path in sorted((ROOT / "instances" / "quickstart").glob("*.yaml"))]
README = " ".join((models_folder() / "README.md").read_text("utf-8").split())
STATED: list[tuple[Rule | Metric, object]] = [*CHECKS.items(), *MEASURES.items()]


@pytest.mark.parametrize(("name", "function"), STATED, ids=[name.value for name, _ in STATED])
def test_the_readme_states_it_by_the_number_and_sentence_of_the_code(
    name: Rule | Metric, function: object
) -> None:
    module = importlib.import_module(str(getattr(function, "__module__", "")))
    number = re.match(r"[RM]\d+", module.__doc__ or "")
    assert number is not None, module.__name__
    sentence = (function.__doc__ or "").split("\n\n")[0]
    assert f"**{number[0]}** `{name.value}`. {' '.join(sentence.split())}" in README


def test_the_readme_numbers_rules_and_metrics_in_the_order_of_the_code() -> None:
    stated = README[README.index("## Rules") : README.index("## Tiers")]
    assert re.findall(r"\*\*R\d+\*\* `(\w+)`", stated) == [rule.value for rule in Rule]
    numbers = re.findall(r"\*\*([RM]\d+)\*\*", stated)
    assert numbers == [f"R{i}" for i in range(1, len(Rule) + 1)] + [
        f"M{i}" for i in range(1, len(Metric) + 1)
    ]


def test_the_readme_names_every_model() -> None:
    named = re.findall(r"\| `([\w-]+)` \|", README)
    assert sorted(named) == shipped_models()


@pytest.mark.parametrize("name", shipped_models())
def test_a_shipped_model_agrees_with_the_published_schema(name: str) -> None:
    path = models_folder() / f"{name}.yaml"
    text = path.read_text("utf-8")
    data = yaml.safe_load(text)
    Draft202012Validator(published_schema("Model")).validate(data)
    assert data["metadata"]["name"] == name
    modeline = re.match(r"# yaml-language-server: \$schema=(\S+)\n", text)
    assert modeline is not None
    schema = json.loads((path.parent / modeline[1]).read_text("utf-8"))
    assert schema == published_schema("Model")


@pytest.mark.parametrize("name", shipped_models())
def test_a_shipped_model_spells_out_into_tiers_on_the_quickstart(name: str) -> None:
    instance = read_question(QUICKSTART).instance(load_model(name))
    tiers = tiers_of(instance)
    first = Metric.EVICTIONS if name == "preemption" else Metric.UNPLACED
    assert tiers[0].metric is first
    assert len({tier.name for tier in tiers}) == len(tiers) > 3
    values = measure(instance, instance.current, tiers)
    assert all(
        value == 0
        for tier, value in zip(tiers, values, strict=True)
        if tier.metric in (Metric.EVICTIONS, Metric.MOVES, Metric.DISRUPTION_COST)
    )


def test_placements_come_before_evictions_and_moves_but_for_those_that_may_evict_nobody() -> None:
    instance = read_question(QUICKSTART).instance(load_model("placement-first"))
    tiers = [(tier.metric, tier.priority) for tier in tiers_of(instance) if not tier.surplus]
    assert tiers == [
        (Metric.UNPLACED, 1000),
        (Metric.DISPLACED, 100),
        (Metric.UNPLACED, 100),
        (Metric.DISPLACED, 10),
        (Metric.EVICTIONS, None),
        (Metric.UNPLACED, 10),
        (Metric.MOVES, None),
    ]


def test_tier_by_tier_settles_each_priority_before_the_next() -> None:
    instance = read_question(QUICKSTART).instance(load_model("tier-by-tier"))
    tiers = [(tier.metric, tier.priority) for tier in tiers_of(instance) if not tier.surplus]
    assert tiers == [
        (metric, priority)
        for priority in (1000, 100, 10)
        for metric in (Metric.UNPLACED, Metric.DISRUPTION_COST)
    ]
    assert not instance.strict


def test_defragmenting_evicts_nobody() -> None:
    assert load_model("defrag").limits.evictions == 0
