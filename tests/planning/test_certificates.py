"""Certificates tell the truth, and what does not is refused."""

from __future__ import annotations

import copy
import random
from pathlib import Path

import pytest

from kantopt.clock import Deadline
from kantopt.planning.certificates.judged import better_bounds
from kantopt.planning.certificates.witnesses import Witnesses, in_64_bits
from kantopt.planning.certify import certify
from kantopt.planning.plan import make_plan
from kantopt.planning.question import chosen_model, question_of
from kantopt.planning.solving.options import Options
from kantopt.problem.build import build_instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.dump import dump_data
from kantopt.schema.extends import load_model
from kantopt.schema.files import load_raw
from kantopt.schema.raw import RawDocument
from kantopt.schema.yaml.scalars import resolve
from kantopt.search.columns.generation import Prices
from kantopt.verify.metrics import measure
from tests.generate import random_documents
from tests.mutations import certificates, refused, resealed, try_mutations
from tests.oracle import best
from tests.questions import hard_question
from tests.verify.world import job, node, placed, pods, question

GOLDEN = Path(__file__).parent.parent.parent / "instances" / "golden"


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_changed_certificate_is_refused_exactly_if_it_claims_what_is_not_so(seed: int) -> None:
    for certificate, raws in certificates(seed):
        went = try_mutations(certificate, raws, random.Random(seed), 20)
        assert went["refused: a claim was false"]


@pytest.mark.parametrize("seed", range(20, 26))
def test_bounds_are_at_most_the_optimum_and_the_optimal_is_optimal(seed: int) -> None:
    snapshot, jobs, model = random_documents(seed)
    optimum, _ = best(build_instance(snapshot, jobs.jobs, model))
    for certificate, _ in certificates(seed):
        if optimum is None:
            assert certificate.required_impossible or certificate.verdict == "OPEN"
            continue
        values = tuple(tier.value for tier in certificate.tiers)
        if certificate.verdict == "OPTIMAL":
            assert values == optimum
        same = True
        for tier, least in zip(certificate.tiers, optimum, strict=True):
            # The bound is for plans no worse above: of these the optimum is one while all is equal.
            if same and tier.bound is not None:
                assert tier.bound <= least, tier.name
            same = same and tier.value == least


def test_a_certificate_says_of_which_jobs_a_tier_speaks() -> None:
    path = str(GOLDEN / "equal-that-may-evict-nobody.yaml")
    raws = load_raw([path])
    question = question_of(raws)
    model = chosen_model(question, None)
    plan = make_plan(question, model, Options(workers=1), Deadline(None)).plan
    assert [tier.preempts for tier in plan.objectives][:5] == [True, None, None, None, False]
    given = question_of([*raws, RawDocument("plan", 0, dump_data(plan))])
    certificate = certify(given, model, Options(workers=1), Deadline(None))
    assert certificate.verdict == "OPTIMAL"
    assert [tier.preempts for tier in certificate.tiers][:5] == [True, None, None, None, False]
    document = dump_data(certificate)
    assert not refused(resealed(document), raws)
    for i, said in ((0, False), (1, True), (4, None)):
        changed = copy.deepcopy(document)
        changed["tiers"][i]["preempts"] = said
        assert refused(resealed(changed), raws)


def test_what_a_plan_claims_beyond_a_certificate_is_told() -> None:
    raws = load_raw([str(GOLDEN / "victims-on-one-node.yaml")])
    question = question_of(raws)
    model = chosen_model(question, None)
    plan = make_plan(question, model, Options(workers=1), Deadline(None)).plan
    given = question_of([*raws, RawDocument("plan", 0, dump_data(plan))])
    tiers = certify(given, model, Options(workers=1), Deadline(None)).tiers
    assert list(better_bounds(plan, tiers)) == []
    weaker = [tier.model_copy(update={"bound": 0, "status": "FEASIBLE"}) for tier in tiers]
    claims = [tier for tier in plan.objectives if tier.bound]
    assert claims
    assert [line.partition(": the plan says")[0] for line in better_bounds(plan, weaker)] == [
        tier.name for tier in claims
    ]
    assert list(better_bounds(None, weaker)) == []


@pytest.mark.parametrize(
    ("denominator", "asked", "written"),
    [
        (10**15, 1908 * 10**17, (1, 190_800)),
        (10**15 + 1, 10**20, (90_909_090_909_091, 9_090_909_090_909_090_909)),
    ],
)
def test_multipliers_are_written_in_numbers_that_yaml_reads_as_whole(
    denominator: int, asked: int, written: tuple[int, int]
) -> None:
    kept, values = in_64_bits(denominator, {"row": asked})
    assert resolve(str(values["row"])) == values["row"] < 2**63
    assert values["row"] * denominator <= asked * kept
    assert (kept, values["row"]) == written


@pytest.mark.parametrize("without", [(), ("cp-sat",)])
def test_a_certificate_has_the_parameters_that_the_solver_had(without: tuple[str, ...]) -> None:
    """Those of the solves themselves, and none of a solver that nobody asked."""
    options = Options(engine="exact", workers=1, without=(*without, "relaxation"))
    limit = Deadline.within(4.0)
    certificate = certify(hard_question(), load_model("preemption"), options, limit)
    parameters = certificate.search.parameters
    assert bool(parameters) is not bool(without)
    if parameters:
        assert {"num_workers=1", "random_seed=0", "linearization_level=2"} <= set(parameters)
        assert not [word for word in parameters if word.startswith(("max_time", "log"))]


def test_multipliers_of_tiers_that_are_no_sum_over_pods_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A search has prices of surplus as well, of which arithmetic has no row."""
    elastic = job("e", pods(count=3, gpu=1, on=["a", "a", "b"], minCount=1))
    waits = job("w", pods(gpu=4), priority=9)
    objectives = [{"unplaced": {"by": "priority", "unit": "gpu"}}, "evictions", "moves"]
    instance = question([node(n, gpu=4) for n in "ab"], [elastic, waits], objectives=objectives)
    tiers = tiers_of(instance)
    surplus = next(i for i, tier in enumerate(tiers) if tier.surplus)
    moved = placed(instance, e=["a", "b", "b"])
    values = measure(instance, moved, tiers)
    made = Witnesses(instance, tiers, moved, values, Deadline.within(20.0))
    last = len(tiers) - 1
    monkeypatch.setattr(
        "kantopt.search.columns.generation.prices_of",
        lambda *_: Prices(1, {0: 1}, {surplus: 2, last - 1: 1}),
    )
    made.look(Deadline.within(10.0))
    assert made.bound(last) < values[last] == 1
