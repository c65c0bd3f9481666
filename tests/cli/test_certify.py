"""``certify`` and ``verify --certificate``: verdicts, exit codes, what is written."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import yaml

from kantopt.planning.certificates.witnesses import Witnesses
from kantopt.schema.files import load_native
from scripts.bench.priority_matters import Cell, documents
from scripts.bench.published import SEEDS
from tests.cli.conftest import SNAPSHOT, Cli

BOTH = ("snap.yaml", "jobs.yaml")
LONG = ("--time-limit", "60s")
"""Time enough for a busy machine: it ends long before."""


@pytest.fixture(autouse=True)
def _in_folder(files: Path) -> None:
    """All of these run in the folder."""


@pytest.fixture
def best(cli: Cli) -> str:
    """Path of an optimal plan."""
    assert cli("plan", *BOTH, "-q", "-O", "best.yaml").code == 0
    return "best.yaml"


def test_an_optimal_plan_is_certified_and_anyone_can_check_it(cli: Cli, best: str) -> None:
    done = cli("certify", *BOTH, "--plan", best, "-O", "cert.yaml", *LONG)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("CERTIFIED OPTIMAL: no legal plan is better")
    checked = cli("verify", "--certificate", "cert.yaml", *BOTH)
    assert checked.code == 0
    assert checked.out.startswith("VALID: it is the certificate of these documents")


def test_with_json_logs_each_line_on_stderr_is_an_object(cli: Cli, best: str) -> None:
    asked = ("certify", *BOTH, "--plan", best, "--time-limit", "1ms", "-o", "name")
    lines = cli(*asked, "--log-format", "json").err.splitlines()
    events = [json.loads(line)["event"] for line in lines]
    assert "warning" in events


def test_the_plan_may_be_any_of_the_files(cli: Cli, best: str) -> None:
    assert cli("certify", best, *BOTH, "-o", "name", *LONG).out == "OPTIMAL\n"


def test_a_snapshot_as_it_stands_is_beaten_and_the_better_plan_written(cli: Cli) -> None:
    done = cli("certify", *BOTH, "-O", "cert.json", "--counter-example", "better.yaml")
    assert done.code == 10
    assert done.out.startswith("BETTER PLAN FOUND: unplaced[1000, GPUs] is 16 and can be 0.")
    assert cli("verify", *BOTH, "better.yaml").code == 0
    certificate = json.loads(Path("cert.json").read_text())
    assert certificate["counterExample"]["optimal"] is True
    assert certificate["subject"]["judged"] == "snapshot as it stands"
    assert cli("verify", "--certificate", "cert.json", *BOTH).code == 0


def test_wide_says_what_was_read_and_has_the_better_plan(cli: Cli) -> None:
    done = cli("certify", *BOTH, "-o", "wide")
    assert done.out.splitlines()[2] == "3 nodes, 2 jobs: 2 running pods, 2 pending pods."
    assert "THE BETTER PLAN" in done.out
    row = next(text for text in done.out.splitlines() if text.startswith("unplaced[1000, GPUs]"))
    assert row.endswith("16      0   16       0  beaten, bound by arithmetic")
    assert "running pods" not in cli("certify", *BOTH, "-o", "table").out


def test_a_later_snapshot_is_judged_as_what_somebody_did(cli: Cli) -> None:
    later = yaml.safe_load(SNAPSHOT)
    job = {
        **yaml.safe_load(Path("jobs.yaml").read_text())["jobs"][0],
        "priority": 1000,
    }
    job["podSets"][0]["assignments"] = [{"node": "gpu-002", "count": 1}]
    later["jobs"].append(job)
    Path("later.yaml").write_text(yaml.safe_dump(later))
    done = cli("certify", *BOTH, "--after", "later.yaml")
    assert done.code == 12
    assert "gang: " in done.out
    job["podSets"][0]["assignments"] = [{"node": "gpu-002"}, {"node": "gpu-003"}]
    later["jobs"][0]["podSets"][0]["assignments"] = [{"node": "gpu-001", "count": 2}]
    Path("later.yaml").write_text(yaml.safe_dump(later))
    done = cli("certify", *BOTH, "--after", "later.yaml")
    assert done.code == 12
    assert "pinned: " in done.out  # it may be evicted, not moved
    del later["jobs"][0]["podSets"][0]["assignments"][0]["count"]
    Path("later.yaml").write_text(yaml.safe_dump(later))
    done = cli("certify", *BOTH, "--after", "later.yaml", "-O", "cert.yaml", *LONG)
    assert done.code == 0, done.out
    assert "1 running pods are gone from the later snapshot: they count as evicted" in done.out
    assert cli("verify", "--certificate", "cert.yaml", *BOTH).code == 0


def test_pods_on_a_node_that_the_first_snapshot_lacks_are_bad_data(cli: Cli) -> None:
    Path("later.yaml").write_text(SNAPSHOT.replace("gpu-003", "gpu-004"))
    done = cli("certify", *BOTH, "--after", "later.yaml")
    assert done.code == 65
    assert "later.yaml: job team-b/batch-1: found gpu-004, expected a node of the first" in done.err


def test_an_illegal_or_untrue_plan_is_refused(cli: Cli, best: str) -> None:
    text = Path(best).read_text().replace("gpu-002", "gpu-001")
    Path("wrong.yaml").write_text(text)
    done = cli("certify", *BOTH, "--plan", "wrong.yaml", "-O", "cert.yaml")
    assert done.code == 12
    assert done.out.startswith("ILLEGAL: ")
    assert "capacity: wave " in done.out
    checked = cli("verify", "--certificate", "cert.yaml", *BOTH)
    assert checked.code == 0  # so it is
    assert "what it judges is ILLEGAL, with exactly the findings that it lists" in checked.out
    assert "legal at every step" not in checked.out


def test_without_time_nothing_is_proved_and_nothing_claimed(cli: Cli) -> None:
    done = cli("certify", *BOTH, "--time-limit", "1ms", "-O", "cert.yaml")
    assert done.code == 11
    assert "OPEN: " in done.out
    assert cli("verify", "--certificate", "cert.yaml", *BOTH).code == 0


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        (
            "value: 1",
            "value: 0",
            "metadata.certificateId: the certificate was changed after it was made (stated sha256:",
        ),
        ("kantoptVersion: ", "kantoptVersion: x", "metadata.certificateId"),
    ],
)
def test_a_changed_certificate_is_refused(
    cli: Cli, best: str, old: str, new: str, finding: str
) -> None:
    cli("certify", *BOTH, "--plan", best, "-O", "cert.yaml")
    text = Path("cert.yaml").read_text()
    assert old in text
    Path("cert.yaml").write_text(text.replace(old, new, 1))
    done = cli("verify", "--certificate", "cert.yaml", *BOTH, "-o", "name")
    assert done.code == 12
    assert finding in done.out


def test_a_certificate_of_something_else_is_refused(cli: Cli, best: str) -> None:
    cli("certify", *BOTH, "--plan", best, "-O", "cert.yaml")
    Path("snap.yaml").write_text(SNAPSHOT.replace('cpu: "96"', 'cpu: "95"'))
    done = cli("verify", "--certificate", "cert.yaml", *BOTH, "-o", "name")
    assert done.code == 12
    said = "subject.snapshot: the snapshot given: not what the certificate is about (stated sha256:"
    assert said in done.out


def test_wrong_words_are_usage_errors(cli: Cli, best: str) -> None:
    done = cli("certify", *BOTH, "--plan", best, "--after", "snap.yaml")
    assert done.code == 64
    assert cli("verify", "--certificate", best, *BOTH).code == 65
    assert cli("verify", "--certificate", "none.cert", *BOTH).code == 66
    assert cli("certify", "jobs.yaml").code == 65
    done = cli("certify", "snap.yaml", "--plan", "jobs.yaml")
    assert done.code == 65
    assert "jobs.yaml: kind: found no Plan, expected a Plan to judge" in done.err
    cli("certify", *BOTH, "-O", "cert.yaml")
    done = cli("verify", *BOTH, "cert.yaml")
    assert done.code == 65
    assert "`kantopt verify --certificate` judges it" in done.err


def test_the_document_is_one_of_ours(cli: Cli, best: str) -> None:
    cli("certify", *BOTH, "--plan", best, "-O", "cert.yaml")
    ((_, document),) = load_native(["cert.yaml"])
    assert document.kind == "Certificate"  # type: ignore[attr-defined]
    assert cli("schema", "certificate").code == 0


def test_a_second_solver_is_asked_about_what_only_search_has_proved(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """16 pods on 4 nodes, of which two have no place: without prices by node only search tells."""
    monkeypatch.setattr(Witnesses, "_by_nodes", lambda *_: None)
    monkeypatch.setattr(Witnesses, "hear", lambda *_: None)
    asked = [str(path) for path in documents(Cell(4, 4, 4, 105), SEEDS[0]).write(Path())]
    options = ("-m", "placement-first", "--time-limit", "30s")
    assert cli("plan", *asked, *options, "-q", "-O", "p.json").code == 0
    check = ("--cross-check", "--log", "solver.log", "-O", "c.json")
    done = cli("certify", *asked, *options, "--plan", "p.json", *check)
    assert done.code == 0
    assert "OPTIMAL by relaxation-search, given those above; HiGHS agrees" in done.out
    certificate = json.loads(Path("c.json").read_text())
    (searched,) = (tier for tier in certificate["tiers"] if tier["provedBy"] == "relaxation-search")
    assert searched["secondOpinion"]["value"] == searched["bound"]
    log = hashlib.sha256(Path("solver.log").read_bytes()).hexdigest()
    assert certificate["search"]["logDigest"] == f"sha256:{log}"
    assert cli("verify", "--certificate", "c.json", *asked).code == 0


def _kubectl(path: str, **pods: tuple[str, str | None, str]) -> None:
    """Write two nodes of 4 cores and pods: cores, node, owner."""
    items = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "status": {
                "allocatable": {"cpu": "4", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        for name in ("n1", "n2")
    ]
    for name, (cpu, node, owner) in pods.items():
        kind = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": True}
        metadata = {
            "name": name,
            "namespace": "d",
            "uid": name,
            "ownerReferences": [{**kind, "name": owner, "uid": owner, "controller": True}],
        }
        spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}
        placed = {} if node is None else {"nodeName": node}
        phase = {"phase": "Pending" if node is None else "Running"}
        items.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": metadata,
                "spec": {**spec, **placed},
                "status": phase,
            }
        )
    Path(path).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def test_two_kubectl_dumps_say_what_a_scheduler_did(cli: Cli) -> None:
    """The pod of 4 cores has a place once b is gone; who took b is not known: nobody is blamed."""
    _kubectl(
        "k1.json",
        a=("2", "n1", "web"),
        b=("2", "n2", "web"),
        big=("4", None, "big"),
        c=("1", None, "x"),
    )
    _kubectl(
        "k2.json",
        a=("2", "n1", "web"),
        b=("2", "n2", "web"),
        big=("4", None, "big"),
        c=("1", "n2", "x"),
    )
    done = cli("certify", "k1.json", "--after", "k2.json")
    assert done.code == 0
    assert "judged: what became of it in the later snapshot, legal." in done.out
    _kubectl(
        "k3.json",
        a=("2", "n1", "web"),
        b2=("2", "n1", "web"),
        big=("4", "n2", "big"),
        c=("1", None, "x"),
    )
    done = cli("certify", "k1.json", "--after", "k3.json", "-O", "cert.yaml")
    assert done.code == 0, done.out
    assert "d/b on n2: disrupted (gone; its owner has b2 since)" in done.out
    done = cli("verify", "--certificate", "cert.yaml", "k1.json", "--after", "k3.json")
    assert done.code == 0
    assert "what came of the first snapshot is legal" in done.out
    assert cli("verify", "--certificate", "cert.yaml", "k1.json").code == 64
    done = cli("verify", "--certificate", "cert.yaml", "k1.json", "--after", "k2.json")
    assert done.code == 12
    assert "claims: history: stated something else, found what the two dumps show" in done.out


def test_a_job_that_a_later_snapshot_does_not_know_is_no_eviction(cli: Cli) -> None:
    later = yaml.safe_load(SNAPSHOT)
    later["jobs"] = []
    Path("later.yaml").write_text(yaml.safe_dump(later))
    done = cli("certify", "snap.yaml", "--after", "later.yaml", "-O", "cert.yaml", *LONG)
    assert done.code == 0, done.out
    assert "team-b/b-0 on gpu-001: unknown (gone; the later snapshot has no job" in done.out
    check = ("verify", "--certificate", "cert.yaml", "snap.yaml")
    assert cli(*check, "--after", "later.yaml").code == 0
    assert cli(*check).code == 64
    assert cli(*check, "--after", "snap.yaml").code == 64


def test_a_certificate_is_of_the_later_snapshot_that_its_plan_leads_to(cli: Cli) -> None:
    later = yaml.safe_load(SNAPSHOT)
    (job,) = yaml.safe_load(Path("jobs.yaml").read_text())["jobs"]
    job = {key: value for key, value in job.items() if key != "priorityClassName"}
    places = [{"node": "gpu-002"}, {"node": "gpu-003"}]
    job["podSets"][0] |= {"count": 2, "assignments": places}
    later["jobs"] = [{**job, "priority": 1000}]
    Path("later.yaml").write_text(yaml.safe_dump(later))
    places[1]["node"] = "gpu-001"
    Path("other.yaml").write_text(yaml.safe_dump(later))
    done = cli("certify", *BOTH, "--after", "later.yaml", "-O", "cert.yaml", *LONG)
    assert done.code == 0, done.out
    check = ("verify", "--certificate", "cert.yaml", *BOTH)
    assert cli(*check, "--after", "later.yaml").code == 0
    done = cli(*check, "--after", "other.yaml")
    assert done.code == 12
    assert "claims: plan: stated something else, found what the two dumps show" in done.out


def test_that_no_order_of_what_was_done_is_legal_is_not_checked(cli: Cli) -> None:
    later = yaml.safe_load(SNAPSHOT)
    later["jobs"][0]["podSets"][0]["assignments"] = [{"node": "gpu-001", "count": 2}]
    Path("later.yaml").write_text(yaml.safe_dump(later))
    done = cli("certify", "snap.yaml", "--after", "later.yaml", "-O", "cert.yaml", *LONG)
    assert done.code == 12
    done = cli("verify", "--certificate", "cert.yaml", "snap.yaml")
    assert done.code == 0
    assert "findings: that no other order of the actions is legal" in done.out
