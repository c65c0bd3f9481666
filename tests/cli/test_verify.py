"""``kantopt verify``: a false word anywhere in a plan is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kantopt.schema.answers.plan import Plan
from kantopt.schema.dump import canonical_digest, dump_json
from kantopt.schema.files import load_native
from tests.cli.conftest import SNAPSHOT, Cli

Data = dict[str, Any]


@pytest.fixture(autouse=True)
def _planned(files: Path, cli: Cli) -> None:
    """Each of these starts with a good plan."""
    assert cli("plan", "snap.yaml", "jobs.yaml", "-O", "plan.json", "-q").code == 0


def tampered(change: Callable[[Data], object], *, sealed: bool = True) -> str:
    """Change the plan and, unless the seal is to break, give it its new id."""
    data = json.loads(Path("plan.json").read_text())
    change(data)
    Path("bad.json").write_text(json.dumps(data))
    if sealed:
        plan = load_native(["bad.json"])[0][1]
        assert isinstance(plan, Plan)
        bare = plan.metadata.model_copy(update={"plan_id": ""})
        digest = canonical_digest(plan.model_copy(update={"metadata": bare}))
        named = plan.metadata.model_copy(update={"plan_id": digest})
        Path("bad.json").write_text(dump_json(plan.model_copy(update={"metadata": named})))
    return "bad.json"


def test_a_plan_of_ours_is_valid(cli: Cli) -> None:
    done = cli("verify", "snap.yaml", "jobs.yaml", "plan.json")
    assert done.code == 0
    assert done.out.startswith(
        "VALID: legal at every step; its figures, bounds by arithmetic, embedded jobs and reasons "
        "to evict hold.\n\nCLAIMED BY SEARCH, not checked\n  objective unplaced[priority=10, "
    )
    plan = json.loads(Path("plan.json").read_text())
    searched = [
        row["name"] for row in plan["objectives"] if row["provedBy"] not in ("arithmetic", "none")
    ]
    told = json.loads(cli("verify", "snap.yaml", "jobs.yaml", "plan.json", "-o", "json").out)
    assert len(told["unchecked"]) == len(searched) + ("cascade" in plan)
    assert all(name in text for name, text in zip(searched, told["unchecked"], strict=False))
    assert told["unchecked"][-1].startswith("cascade: ")
    assert cli("verify", "plan.json", "snap.yaml").code == 0


def test_a_plan_without_a_snapshot_is_only_read(cli: Cli) -> None:
    done = cli("verify", "plan.json")
    assert done.code == 0
    assert "no snapshot among the files" in done.out
    changed = tampered(lambda data: data["summary"].update(movedPods=3))
    assert cli("verify", changed, "-o", "name").out == (
        "claims: summary.movedPods: stated 3, found 0\n"
    )


def test_a_model_without_a_snapshot_is_only_read(cli: Cli) -> None:
    Path("m.yaml").write_text("apiVersion: kantopt/v1alpha1\nkind: Model\nextends: mixed\n")
    assert cli("verify", "m.yaml").code == 0
    Path("m.yaml").write_text("apiVersion: kantopt/v1alpha1\nkind: Model\n")
    assert cli("verify", "m.yaml").code == 65
    Path("m.yaml").write_text("apiVersion: kantopt/v1alpha1\nkind: Plan\n")
    assert cli("verify", "m.yaml").code == 65


def test_what_is_wrong_with_a_snapshot_is_a_fact_not_a_finding(cli: Cli) -> None:
    Path("over.yaml").write_text(SNAPSHOT.replace("nvidia.com/gpu: 4}", "nvidia.com/gpu: 9}"))
    done = cli("verify", "over.yaml")
    assert done.code == 0
    assert "capacity: node gpu-001: 9 of 8 nvidia.com/gpu" in done.out
    assert len(cli("verify", "over.yaml", "-o", "name").out.splitlines()) == 2
    assert cli("verify", "snap.yaml").out.startswith("SOUND: no rule is broken")


def test_another_snapshot_is_told(cli: Cli) -> None:
    Path("other.yaml").write_text(SNAPSHOT.replace("prod-a", "prod-b"))
    done = cli("verify", "other.yaml", "plan.json", "-o", "name")
    assert done.code == 0
    assert "the plan was made for another snapshot" in done.err


def test_another_model_is_told_and_judges_the_steps(cli: Cli) -> None:
    Path("strict.yaml").write_text(
        "apiVersion: kantopt/v1alpha1\nkind: Model\nmetadata: {name: still}\n"
        "extends: mixed\nlimits: {evictions: 0}\n"
    )
    for given in (["--model", "strict.yaml"], ["strict.yaml"]):
        done = cli("verify", "snap.yaml", "plan.json", *given)
        assert done.code == 12
        assert "limits: " in done.out
        assert "judged under the model still" in done.out


def test_a_document_as_output_parses(cli: Cli) -> None:
    changed = tampered(lambda data: data["summary"].update(movedPods=3))
    out = cli("verify", "snap.yaml", changed, "-o", "json").out
    assert [f["rule"] for f in json.loads(out)["findings"]] == ["claims"]


def tier(data: Data, name: str) -> Data:
    return next(row for row in data["objectives"] if row["name"].startswith(name))


def swap_waves(data: Data) -> None:
    first, second = data["waves"]
    first["actions"], second["actions"] = second["actions"], first["actions"]


def drop_eviction(data: Data) -> None:
    data["evictions"] = []
    data["waves"] = [{"id": 1, "actions": data["waves"][1]["actions"]}]
    data["summary"]["evictedPods"] = 0


CASES: dict[str, tuple[Callable[[Data], object], str]] = {
    "a bind before the eviction that makes its room": (swap_waves, "capacity: wave 1: node"),
    "an eviction left out": (drop_eviction, "capacity: "),
    "a node that is not there": (
        lambda data: data["assignments"][0].update(node="gpu-9"),
        "actions: assignments[0].node: found gpu-9, expected",
    ),
    "a cascade that is deeper than its rounds": (
        lambda data: data["cascade"].update(depth=1),
        "claims: cascade depth: stated 1, found 0",
    ),
    "somebody pushed out by one who may not": (
        lambda data: data["cascade"].update(
            depth=1,
            rounds=[
                {
                    "returnedPods": 1,
                    "waitingPods": 0,
                    "evicted": [
                        {
                            "job": "team-a/llm-8",
                            "priority": 1000,
                            "pods": 1,
                            "for": "team-b/batch-1",
                        }
                    ],
                }
            ],
        ),
        "claims: cascade round 1 team-a/llm-8 for: stated team-b/batch-1, found",
    ),
    "a better value than the true one": (
        lambda data: tier(data, "evictions").update(value=0, bound=0),
        "claims: objective evictions[priority=10] value: stated 0, found 1",
    ),
    "a wrong value before": (
        lambda data: tier(data, "unplaced").update(before=1),
        "before: stated 1, found 16000",
    ),
    "a bound above the value": (
        lambda data: tier(data, "moves").update(bound=5, status="FEASIBLE"),
        "objective moves bound: stated 5, found at most the value 0",
    ),
    "an arithmetic bound that arithmetic does not give": (
        lambda data: tier(data, "evictions").update(provedBy="arithmetic"),
        "bound by arithmetic: stated 1, found 0",
    ),
    "optimal without the bound": (
        lambda data: tier(data, "evictions").update(bound=0, provedBy="arithmetic"),
        "stated OPTIMAL at 1, found the bound 0",
    ),
    "a bound that nobody proved": (
        lambda data: tier(data, "moves").update(provedBy="none"),
        "provedBy: stated none, found the bound 0",
    ),
    "optimal overall with a tier open": (
        lambda data: tier(data, "moves").update(status="FEASIBLE"),
        "claims: solver.status: stated OPTIMAL, found open tiers (moves)",
    ),
    "a tier left out": (lambda data: data["objectives"].pop(), "claims: objectives: "),
    "something unplaced that is not": (
        lambda data: (
            data.update(
                unplaced=[
                    {
                        "job": "team-a/llm-8",
                        "priority": 1000,
                        "pods": 2,
                        "wanted": 2,
                        "rule": "capacity",
                        "message": "no room",
                    }
                ]
            ),
            data["summary"].update(unplacedJobs=1, unplacedPods=2),
        ),
        "claims: unplaced team-a/llm-8: stated 2 of 2 pods at priority 1000, found nothing",
    ),
    "no reason to evict": (
        lambda data: data["evictions"][0].pop("for"),
        "claims: e1 for: stated nothing, found team-a/llm-8",
    ),
    "no embedded jobs": (
        lambda data: data.update(jobs=[]),
        "claims: jobs team-a/llm-8: stated not embedded, found a job acted on or unplaced",
    ),
    "a victim that is not embedded": (
        lambda data: data.update(jobs=[job for job in data["jobs"] if job["name"] != "batch-1"]),
        "claims: jobs team-b/batch-1: stated not embedded, found a job acted on or unplaced",
    ),
    "an embedded job that asks for something else": (
        lambda data: data["jobs"][1]["podSets"][0]["requests"].update(cpu=1),
        "claims: jobs team-a/llm-8: stated other podSets, found those given",
    ),
    "an embedded job that nobody gave": (
        lambda data: data["jobs"].append({**data["jobs"][0], "name": "made-up"}),
        "claims: jobs team-b/made-up: stated embedded, found no such job",
    ),
    "something wrong before that was not": (
        lambda data: data.update(
            preExisting=[{"rule": "capacity", "subject": "node gpu-001", "message": "9 of 8 gpu"}]
        ),
        "claims: preExisting node gpu-001: stated capacity 9 of 8 gpu, found nothing",
    ),
    "a proof by the solver that takes nothing for granted": (
        lambda data: tier(data, "evictions").update(provedBy="cp-sat", given=[]),
        "claims: objective evictions[priority=10] given: stated nothing, found ",
    ),
    "tiers taken for granted that are not above": (
        lambda data: tier(data, "evictions").update(given=["moves"]),
        "claims: objective evictions[priority=10] given: stated moves, found ",
    ),
    "a solver's plan that would come again by the clock": (
        lambda data: data["solver"].update(
            foundBy="cp-sat", deterministic=False, reproducible=True
        ),
        "claims: solver.reproducible: stated true, found a plan found by cp-sat under a clock",
    ),
    "a victim of another priority": (
        lambda data: data["evictions"][0].update(priority=9),
        "e1 priority: stated 9, found 10",
    ),
    "an eviction for a job that is not placed": (
        lambda data: data["evictions"][0].update({"for": "team-b/batch-1"}),
        "e1 for: stated team-b/batch-1, found team-a/llm-8",
    ),
    "a budget that is not named": (
        lambda data: data["evictions"][0].pop("budgets"),
        "e1 budgets: stated none, found team-b/batch",
    ),
    "a pod that is not there": (
        lambda data: data["evictions"][0]["pods"][0].update(name="other"),
        "e1 pod: stated other",
    ),
    "more pods than are counted": (
        lambda data: data["evictions"][0]["pods"].append({"name": "more"}),
        "e1 pods: stated 2 names, found 1 pod",
    ),
}


@pytest.mark.parametrize("case", list(CASES))
def test_what_is_false_is_found(cli: Cli, case: str) -> None:
    change, said = CASES[case]
    done = cli("verify", "snap.yaml", "jobs.yaml", tampered(change))
    assert done.code == 12
    assert said in done.out
    assert "metadata.planId" not in done.out


def test_a_broken_seal_is_found(cli: Cli) -> None:
    bad = tampered(lambda data: data["metadata"].update(planId="sha256:0"), sealed=False)
    done = cli("verify", "snap.yaml", bad)
    assert done.code == 12
    assert "claims: metadata.planId: stated sha256:0, found sha256:" in done.out


def test_a_plan_that_says_itself_what_it_misses_is_no_lie(cli: Cli) -> None:
    Path("m.yaml").write_text(
        "apiVersion: kantopt/v1alpha1\nkind: Model\nextends: mixed\nrequired: [huge]\n"
    )
    arguments = ("snap.yaml", "huge.yaml", "m.yaml")
    assert cli("plan", *arguments, "-O", "plan.json", "-q").code == 4
    done = cli("verify", "snap.yaml", "huge.yaml", "plan.json")
    assert done.code == 0, done.out
    assert "as the plan says" in done.out


def test_what_was_wrong_before_and_is_left_out_is_found(cli: Cli) -> None:
    Path("over.yaml").write_text(
        SNAPSHOT.replace("requests: {cpu: 4, nvidia", "requests: {cpu: 97, nvidia")
    )
    assert cli("plan", "over.yaml", "none.yaml", "-O", "plan.json", "-q").code == 0
    assert cli("verify", "over.yaml", "plan.json").code == 0
    done = cli("verify", "over.yaml", tampered(lambda data: data.pop("preExisting")))
    assert done.code == 12
    said = "claims: preExisting node gpu-001: stated nothing, found capacity 97 of 96 cpu"
    assert said in done.out


def test_a_plan_alone_shows_that_it_embeds_too_little(cli: Cli) -> None:
    done = cli("verify", tampered(lambda data: data.update(jobs=[])), "-o", "name")
    assert done.code == 12
    assert (
        "claims: jobs team-a/llm-8: stated not embedded, found a job acted on or unplaced"
        in done.out
    )


def test_a_bound_by_arithmetic_names_the_tiers_that_it_rests_on(cli: Cli) -> None:
    """The room for the less important job is what the more important one leaves."""
    head = "apiVersion: kantopt/v1alpha1\nkind: "
    Path("one.yaml").write_text(
        f"{head}ClusterSnapshot\nnodes: [{{name: a, allocatable: {{nvidia.com/gpu: 8}}}}]\n"
    )
    podset = "podSets: [{count: 1, requests: {nvidia.com/gpu: 8}}]"
    Path("two.yaml").write_text(
        f"{head}JobList\njobs:\n- {{name: first, priority: 9, {podset}}}\n"
        f"- {{name: second, priority: 1, {podset}}}\n"
    )
    assert (
        cli("plan", "one.yaml", "two.yaml", "--engine", "fast", "-O", "plan.json", "-q").code == 0
    )
    assert cli("verify", "one.yaml", "two.yaml", "plan.json").code == 0
    hidden = tampered(lambda data: tier(data, "unplaced[priority=1, milli-GPU]").pop("given"))
    done = cli("verify", "one.yaml", "two.yaml", hidden)
    assert done.code == 12
    assert (
        "claims: objective unplaced[priority=1, milli-GPU] given: stated nothing, found "
        "unplaced[priority=9, milli-GPU]" in done.out
    )


def test_what_cannot_be_used_is_judged_without_a_crash(cli: Cli) -> None:
    """Embedded jobs, and what was wrong before, are judged though a node is not known."""

    def spoil(data: Data) -> None:
        data["assignments"][0].update(node="gpu-9")
        data["jobs"][1]["podSets"][0]["requests"].update(cpu=1)

    done = cli("verify", "snap.yaml", "jobs.yaml", tampered(spoil))
    assert "actions: assignments[0].node: found gpu-9, expected" in done.out
    assert "claims: jobs team-a/llm-8: stated other podSets, found those given" in done.out


def test_a_cascade_that_ends_where_somebody_goes_is_not_complete(cli: Cli) -> None:
    def change(data: dict[str, Any]) -> None:
        pushed = {"job": "default/none", "priority": 1, "pods": 1}
        data["cascade"] = {
            "depth": 1,
            "complete": True,
            "rounds": [{"returnedPods": 1, "waitingPods": 0, "evicted": [pushed]}],
        }

    told = cli("verify", "snap.yaml", "jobs.yaml", tampered(change)).out
    assert (
        "claims: cascade complete: stated true, found a last round that pushes somebody out" in told
    )


def test_that_nothing_required_is_impossible_is_no_claim_to_make(cli: Cli) -> None:
    changed = tampered(lambda data: data["solver"].update(status="INFEASIBLE"))
    told = cli("verify", "snap.yaml", "jobs.yaml", changed).out
    assert "claims: solver.status: stated INFEASIBLE, found nothing required" in told


def test_a_snapshot_alone_is_judged_as_it_stands(cli: Cli) -> None:
    done = cli("verify", "snap.yaml")
    assert done.out.startswith("SOUND: no rule is broken as it stands.")
    assert "no plan among the files: the snapshot is judged as it stands" in done.out
