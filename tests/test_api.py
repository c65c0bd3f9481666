"""kantopt in a program: paths, plain data and documents in, documents out."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kantopt
from kantopt.errors import BadDataError, UsageError
from kantopt.schema.yaml.text import parse_yaml

QUICKSTART = Path(__file__).resolve().parent.parent / "instances" / "quickstart"
SNAPSHOT, JOBS = QUICKSTART / "snapshot.yaml", QUICKSTART / "jobs.yaml"


def test_a_plan_is_made_judged_certified_and_shown() -> None:
    plan = kantopt.plan(SNAPSHOT, JOBS, model="training", time_limit=20, deterministic=True)
    assert plan.summary.placed_pods
    verdict = kantopt.judge(SNAPSHOT, JOBS, plan)
    assert (verdict.judged, verdict.findings) == ("plan", ())
    assert kantopt.show(plan).startswith("Place ")
    certificate = kantopt.certify(SNAPSHOT, JOBS, plan, time_limit=20)
    assert certificate.verdict in ("OPTIMAL", "OPEN")


def test_paths_data_and_documents_are_one() -> None:
    data = [parse_yaml(path.read_text(), str(path))[0] for path in (SNAPSHOT, JOBS)]
    given = [item.data if hasattr(item, "data") else item for item in data]
    question = kantopt.read(str(SNAPSHOT), JOBS)
    plans = [
        kantopt.plan(question, engine="fast", deterministic=True),
        kantopt.plan(*given, engine="fast", deterministic=True),
        kantopt.plan(question.snapshot, JOBS, engine="fast", deterministic=True),
    ]
    assert len({plan.metadata.plan_id for plan in plans}) == 1
    verdicts = [kantopt.judge(question, plans[0]), kantopt.judge(SNAPSHOT, JOBS, plans[0])]
    assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize("left_out", [{}, {"exclude_none": True}, {"exclude_unset": True}], ids=str)
def test_a_plan_that_is_written_out_is_read_back(left_out: dict[str, bool]) -> None:
    plan = kantopt.plan(SNAPSHOT, JOBS, engine="fast", deterministic=True)
    data = plan.model_dump(mode="json", by_alias=True, **left_out)
    assert kantopt.judge(SNAPSHOT, JOBS, data) == kantopt.judge(SNAPSHOT, JOBS, plan)


def test_the_page_on_python_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = QUICKSTART.parent.parent
    monkeypatch.setenv("PYTHONPATH", str(root))
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, "-m", "kantopt", "init", "--quiet"], check=True)
    page = (root / "docs" / "python.md").read_text(encoding="utf-8")
    example, large = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    for code, said in (
        (example.replace("time_limit=10", "time_limit=20, deterministic=True", 1), "NEVER"),
        (large.replace("(1000)", "(6)").replace("(100)", "(1)").replace("30s", "5s"), "Place "),
    ):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert said in done.stdout


def test_a_job_is_explained() -> None:
    gpus, version = "nvidia.com/gpu", {"apiVersion": "kantopt/v1alpha1"}
    nodes = [{"name": "n", "allocatable": {gpus: 8}}]
    large = {"name": "large", "podSets": [{"count": 1, "requests": {gpus: 9}}]}
    cluster = {**version, "kind": "ClusterSnapshot", "nodes": nodes}
    waiting = {**version, "kind": "JobList", "jobs": [large]}
    told = kantopt.explain(cluster, waiting, job="large", time_limit=20)
    assert told.verdict.status == "NEVER"


def test_what_is_wrong_is_raised() -> None:
    with pytest.raises(BadDataError, match="<source 1>: kind: found"):
        kantopt.read({"apiVersion": "kantopt/v1alpha1", "kind": "Nothing"})
    with pytest.raises(UsageError, match="expected a job"):
        kantopt.explain(SNAPSHOT, JOBS, job="nobody")
    question = kantopt.read(SNAPSHOT)
    with pytest.raises(TypeError, match="only a plan may stand"):
        kantopt.plan(question, JOBS)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kantopt.nothing  # noqa: B018


def test_the_time_limit_counts_from_the_call() -> None:
    code = (
        "import json, time, kantopt\n"
        "time.sleep(3)\n"
        f"plan = kantopt.plan({str(SNAPSHOT)!r}, {str(JOBS)!r}, time_limit=2, engine='fast')\n"
        "print(json.dumps([plan.summary.placed_pods, list(plan.warnings)]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    placed, warnings = json.loads(done.stdout)
    assert placed
    assert not any("not examined" in text for text in warnings)


def test_importing_it_loads_nothing_heavy() -> None:
    heavy = "('ortools', 'numpy', 'pydantic')"
    code = f"import sys, kantopt; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_time_limit_is_seconds_or_a_duration_as_on_the_command_line() -> None:
    plan = kantopt.plan(SNAPSHOT, JOBS, engine="fast", time_limit="20s", deterministic=True)
    assert plan.summary.placed_pods


@pytest.mark.parametrize("limit", ["ten seconds", "", 0, -1, "0s", float("nan"), None, [10]])
def test_a_time_limit_that_is_none_is_named(limit: object) -> None:
    for call in (kantopt.plan, kantopt.certify):
        with pytest.raises(UsageError, match=r"time_limit: found .*, expected "):
            call("nowhere.yaml", time_limit=limit)  # type: ignore[operator]
    with pytest.raises(UsageError, match=r"time_limit: found .*, expected "):
        kantopt.explain("nowhere.yaml", job="j", time_limit=limit)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"engine": "slow"}, {"seed": -1}, {"seed": 2**31}])
def test_options_are_refused_before_any_work_as_on_the_command_line(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(UsageError, match=f"^{name}: found"):
        kantopt.plan("no-such-file.yaml", **wrong)


def test_one_name_is_a_job_and_not_its_letters() -> None:
    with pytest.raises(UsageError, match="found research/none"):
        kantopt.plan(SNAPSHOT, JOBS, require="research/none")
    told = kantopt.explain(SNAPSHOT, JOBS, job="research/vision", what_if="cordon=gpu-05")
    assert told.what_if is not None
    assert told.what_if.edits == ("cordon=gpu-05",)


def test_only_jobs_that_are_asked_about_are_planned_also_of_documents_of_ours() -> None:
    question = kantopt.read(SNAPSHOT, JOBS, pending="research/vision")
    plan = kantopt.plan(question, time_limit=20, deterministic=True)
    assert {bound.job for bound in plan.assignments} == {"research/vision"}
    assert kantopt.judge(question, plan).findings == ()
    certificate = kantopt.certify(question, plan, time_limit=20)
    assert certificate.verdict in ("OPTIMAL", "OPEN")
    with pytest.raises(UsageError, match="no pending job matches"):
        kantopt.plan(kantopt.read(SNAPSHOT, JOBS, pending=["research/none"]))


def test_what_is_no_answer_is_not_shown() -> None:
    with pytest.raises(UsageError, match=r"^show: found a Verdict, expected one of Plan, Cert"):
        kantopt.show(kantopt.judge(SNAPSHOT))
