"""``kantopt plan``: what it writes and where."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
import yaml

from kantopt.schema.files import load_native
from tests.cli.conftest import HUGE, SNAPSHOT, Cli

BOTH = ("snap.yaml", "jobs.yaml")
QUICKSTART = sorted((Path(__file__).parents[2] / "instances" / "quickstart").glob("*.yaml"))


@pytest.fixture(autouse=True)
def _in_folder(files: Path) -> None:
    """All of these run in the folder."""


def test_the_table_says_what_to_do_and_how_good_it_is(cli: Cli) -> None:
    done = cli("plan", *BOTH)
    assert done.code == 0
    first, second = done.out.splitlines()[:2]
    assert first == "Place 2 pods of 1 job, evict 1 pod."
    assert second.startswith("OPTIMAL: ")
    assert "unplaced[1000, GPUs]" in done.out
    assert "team-a/llm-8" in done.out
    assert done.err == ""


def test_wide_names_every_pod_and_budget(cli: Cli) -> None:
    out = cli("plan", *BOTH, "-o", "wide").out
    assert out.splitlines()[4] == "3 nodes, 2 jobs: 2 running pods, 2 pending pods."
    evicted = next(line for line in out.splitlines() if "evict " in line and "e1" in line)
    assert "team-b/batch" in evicted
    assert "b-" in evicted


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_document_on_stdout_parses(cli: Cli, form: str) -> None:
    out = cli("plan", *BOTH, "-o", form).out
    plan = json.loads(out) if form == "json" else yaml.safe_load(out)
    assert plan["kind"] == "Plan"
    assert plan["summary"]["placedPods"] == 2


def test_name_gives_one_line_per_action(cli: Cli) -> None:
    lines = cli("plan", *BOTH, "-o", "name").out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("evict team-b/batch-1/worker gpu-00")
    assert all(line.endswith(" x1") for line in lines)


def test_an_output_file_gets_the_document_and_stdout_the_table(cli: Cli) -> None:
    done = cli("plan", *BOTH, "-O", "plan.yaml")
    assert done.out.startswith("Place 2 pods")
    assert load_native(["plan.yaml"])[0][1].kind == "Plan"  # type: ignore[attr-defined]
    assert cli("plan", *BOTH, "-q", "-O", "plan.json").out == ""
    assert json.loads(Path("plan.json").read_text())["kind"] == "Plan"


def test_an_output_file_with_a_format_gets_that_and_stdout_nothing(cli: Cli) -> None:
    done = cli("plan", *BOTH, "-O", "plan.txt", "-o", "table")
    assert done.out == ""
    assert Path("plan.txt").read_text().startswith("Place 2 pods")


def test_dash_as_output_file_is_stdout(cli: Cli) -> None:
    assert yaml.safe_load(cli("plan", *BOTH, "-O", "-").out)["kind"] == "Plan"
    assert not Path("-").exists()


@pytest.mark.parametrize("command", ["plan", "defrag", "certify", "metrics", "verify"])
def test_a_snapshot_without_nodes_is_judged_with_a_warning(cli: Cli, command: str) -> None:
    head = "apiVersion: kantopt/v1alpha1\nkind: ClusterSnapshot\nnodes: []\n"
    Path("empty.yaml").write_text(head)
    done = cli(command, "empty.yaml")
    assert done.code == 0
    assert "the snapshot has no nodes" in done.out
    if command in ("plan", "defrag", "certify"):
        verdict = next(line for line in done.out.splitlines() if "OPTIMAL: no" in line)
        assert verdict.endswith("in this order; the snapshot has no nodes.")
    drawn = cli("render", "empty.yaml", "--to", "svg").out
    assert "<title>the cluster: GPUs of each node</title>" in drawn


def test_a_job_that_waits_without_nodes_is_told_so(cli: Cli) -> None:
    head = "apiVersion: kantopt/v1alpha1\nkind: ClusterSnapshot\nnodes: []\n"
    Path("empty.yaml").write_text(head)
    done = cli("explain", "empty.yaml", "jobs.yaml", next(iter(_waiting())))
    assert done.out.startswith("NEVER on this hardware: the snapshot has no nodes.")
    assert "CONFLICT" not in done.out


def _waiting() -> list[str]:
    jobs = yaml.safe_load(Path("jobs.yaml").read_text())["jobs"]
    return [job["name"] for job in jobs]


def test_an_empty_job_list_leaves_nothing_to_do(cli: Cli) -> None:
    done = cli("plan", "snap.yaml", "none.yaml", "--detailed-exitcode", "-o", "table")
    assert done.out.startswith("Nothing to do: no job is pending in the input.")
    assert done.code == 0


def test_a_snapshot_from_stdin(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.TextIOWrapper(io.BytesIO(SNAPSHOT.encode()))
    monkeypatch.setattr(sys, "stdin", text)
    assert cli("plan", "-", "jobs.yaml").out.startswith("Place 2 pods")


def test_verbose_tells_each_plan_found(cli: Cli) -> None:
    done = cli("plan", *BOTH, "-v", "-o", "name")
    assert done.err.startswith("t=")
    assert "\x1b" not in done.err


def test_warnings_go_to_stderr_where_the_table_is_not_shown(cli: Cli) -> None:
    arguments = ("plan", "snap.yaml", "huge.yaml", "--require", "huge", "-o", "json")
    assert "kantopt: warning: " in cli(*arguments).err
    assert cli(*arguments, "-q").err == ""


def test_options_reach_the_plan(cli: Cli) -> None:
    out = cli(
        *("plan", *BOTH, "-o", "json", "--engine", "fast", "--strategy", "fgd", "--seed", "7"),
        *("--deterministic", "--time-limit", "1m", "--workers", "1", "--model", "training"),
    ).out
    plan = json.loads(out)
    solver = plan["solver"]
    assert (solver["engine"], solver["strategy"], solver["seed"]) == ("fast", "fgd", 7)
    assert solver["deterministic"] is True
    assert plan["model"]["metadata"]["name"] == "training"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("snap.yaml", "none.yaml"), 0),
        (("snap.yaml", "jobs.yaml"), 2),
        (("snap.yaml", "huge.yaml"), 3),
        (("snap.yaml", "huge.yaml", "--require", "huge"), 4),
        (("snap.yaml", "jobs.yaml", "--engine", "fast", "--model", "open.yaml"), 5),
    ],
)
def test_detailed_exit_codes(cli: Cli, arguments: tuple[str, ...], code: int) -> None:
    # Arithmetic has no bound above 0 for evictions, which this needs: the tier stays open.
    Path("open.yaml").write_text(
        "apiVersion: kantopt/v1alpha1\nkind: Model\nobjectives: [unplaced, evictions]\n"
    )
    done = cli("plan", *arguments, "--detailed-exitcode", "-O", "plan.json")
    assert done.code == code, done.out
    assert json.loads(Path("plan.json").read_text())["kind"] == "Plan"


def test_without_detailed_exit_codes_only_the_impossible_is_told(cli: Cli) -> None:
    assert cli("plan", "snap.yaml", "huge.yaml").code == 0
    assert cli("plan", "snap.yaml", "huge.yaml", "--require", "huge").code == 4


def test_a_job_that_was_asked_for_and_is_not_placed_ends_no_shell_chain_well(cli: Cli) -> None:
    """The fast engine proves nothing of 5, 3, 3 and 3 GPUs on two nodes of 7."""
    Path("odd.yaml").write_text(
        "apiVersion: kantopt/v1alpha1\nkind: ClusterSnapshot\nmetadata: {name: odd}\nnodes:\n"
        "- {name: a, allocatable: {nvidia.com/gpu: 7}}\n"
        "- {name: b, allocatable: {nvidia.com/gpu: 7}}\n"
    )
    Path("gang.yaml").write_text(
        "apiVersion: kantopt/v1alpha1\nkind: JobList\njobs:\n- name: gang\n  podSets:\n"
        "  - {name: large, count: 1, requests: {nvidia.com/gpu: 5}}\n"
        "  - {name: small, count: 3, requests: {nvidia.com/gpu: 3}}\n"
    )
    fast = ("plan", "odd.yaml", "gang.yaml", "--engine", "fast")
    assert cli(*fast).code == 0
    assert cli(*fast, "--require", "gang").code == 3
    assert cli(*fast, "--for", "gang", "-O", "plan.json").code == 3
    assert json.loads(Path("plan.json").read_text())["solver"]["status"] == "FEASIBLE"


def test_two_runs_write_the_same_bytes(cli: Cli) -> None:
    asked = ("plan", *BOTH, "-o", "json", "--deterministic", "--time-limit", "5m")
    assert cli(*asked).out == cli(*asked).out


def test_deterministic_plans_do_not_depend_on_the_number_of_workers(cli: Cli) -> None:
    """Several optima differ in where pods go: CP-SAT's threads must not race for which it is.

    With moves for jobs that wait, the fast path finds an optimum first.
    """
    asked = ("plan", *map(str, QUICKSTART), "-o", "json", "--deterministic", "--time-limit", "5m")
    asked = (*asked, "--without", "relocation")
    plans = {cli(*asked, "--workers", workers).out for workers in ("1", "3")}
    assert len(plans) == 1
    assert json.loads(plans.pop())["solver"]["foundBy"] == "cp-sat"


def test_pending_patterns_are_of_native_jobs_as_well(cli: Cli) -> None:
    Path("huge.yaml").write_text(HUGE, encoding="utf-8")
    out = cli("plan", *BOTH, "huge.yaml", "--pending", "team-a/*", "-o", "json").out
    plan = json.loads(out)
    assert (plan["summary"]["placedPods"], plan.get("unplaced", [])) == (2, [])
    assert plan["model"]["pending"] == ["team-a/llm-8"]
    Path("plan.json").write_text(out, encoding="utf-8")
    assert cli("verify", *BOTH, "huge.yaml", "plan.json").code == 0


def test_a_pattern_that_no_pending_job_matches_is_an_error(cli: Cli) -> None:
    done = cli("plan", *BOTH, "--pending", "team-x/*")
    assert done.code == 64
    assert "--pending team-x/*: no pending job matches" in done.err


def test_a_job_that_is_left_aside_cannot_be_required(cli: Cli) -> None:
    Path("huge.yaml").write_text(HUGE, encoding="utf-8")
    done = cli("plan", *BOTH, "huge.yaml", "--for", "llm-8", "--require", "huge")
    assert done.code == 64
    assert "--require: found default/huge, expected a job that is asked about" in done.err


def test_without_any_technique_there_is_still_a_plan_and_it_says_what_was_left_out(
    cli: Cli,
) -> None:
    from kantopt.search.schedule import techniques

    names = [each.name for each in techniques()]
    options = [word for name in names for word in ("--without", name)]
    done = cli("plan", *BOTH, "-o", "json", "--time-limit", "3s", *options)
    plan = json.loads(done.out)
    assert plan["summary"]["placedPods"] == 2
    told = {each["name"]: each for each in plan["solver"]["techniques"]}
    assert all("runs" not in each for each in told.values())
    for name in ("relocation", "repair", "ejection-chains"):
        assert told[name]["whyNot"] == "left out by wish"


def test_an_unknown_technique_is_one_error_with_the_nearest(cli: Cli) -> None:
    done = cli("plan", *BOTH, "--without", "cpsat")
    assert done.code == 64
    assert "did you mean cp-sat?" in done.err


ZONED = """\
apiVersion: kantopt/v1alpha1
kind: Model
extends: mixed
zone: {nodes: rack=r2, jobs: [team-a/*]}
"""


def test_e_spread_needs_a_zone_and_says_how_one_is_told(cli: Cli) -> None:
    done = cli("plan", *BOTH, "--strategy", "e-spread")
    assert (done.code, done.out) == (64, "")
    assert "--strategy e-spread: needs a zone in the model, such as" in done.err


def test_a_zone_of_the_model_is_part_of_the_question(cli: Cli) -> None:
    Path("zoned.yaml").write_text(ZONED, encoding="utf-8")
    done = cli("plan", *BOTH, "-m", "zoned.yaml", "--strategy", "e-spread", "-o", "json")
    assert done.code == 0
    assert json.loads(done.out)["solver"]["strategy"].startswith("e-spread")
    Path("zoned.yaml").write_text(ZONED.replace("r2", "r3"), encoding="utf-8")
    done = cli("plan", *BOTH, "-m", "zoned.yaml")
    assert (done.code, done.out) == (65, "")
    assert 'zone.nodes: found "r3", expected r1 or r2' in done.err


def test_explain_says_which_nodes_are_set_apart(cli: Cli) -> None:
    other = ZONED.replace("r2", "r1").replace("team-a", "team-b")
    Path("zoned.yaml").write_text(other, encoding="utf-8")
    done = cli("explain", *BOTH, "-m", "zoned.yaml", "--job", "team-a/llm-8")
    assert done.code == 0
    assert "2 node(s) were set apart for other jobs" in done.out
