"""``kantopt explain`` on the command line."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from kantopt.planning.explain import process
from kantopt.planning.explain.run import explain
from kantopt.processor import CpuUse
from kantopt.schema.answers.explanation import Explanation
from kantopt.schema.published import published_schema
from tests.cli.conftest import Cli, Outcome

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _in_folder(files: Path) -> None:
    """All of these run in the folder."""


def ask(cli: Cli, *arguments: str) -> Outcome:
    """Explain with time enough for a busy machine."""
    return cli("explain", *arguments, *(() if "--time-limit" in arguments else LONG))


LONG = ("--time-limit", "60s")


def test_files_and_the_job_in_any_order(cli: Cli) -> None:
    first = ask(cli, "snap.yaml", "huge.yaml", "default/huge")
    assert (first.code, first.err) == (0, "")
    assert first.out.startswith("NEVER on this hardware: its 4 pods have no place together")
    for arguments in (
        ("huge", "huge.yaml", "snap.yaml"),
        ("huge.yaml", "snap.yaml", "--job", "huge"),
        ("-j", "default/huge", "snap.yaml", "huge.yaml"),
    ):
        assert ask(cli, *arguments) == first


def test_documents_follow_the_published_schema(cli: Cli) -> None:
    done = ask(cli, "snap.yaml", "jobs.yaml", "llm-8", "-o", "json")
    document = json.loads(done.out)
    Draft202012Validator(published_schema("Explanation")).validate(document)
    assert document["kind"] == "Explanation"
    assert document["verdict"]["status"] == "FITS_AFTER_PREEMPTING"
    assert document["remedies"][0]["plan"]["waves"]
    assert yaml.safe_load(ask(cli, "snap.yaml", "jobs.yaml", "llm-8", "-o", "yaml").out) == (
        document
    )
    assert ask(cli, "snap.yaml", "jobs.yaml", "llm-8", "-o", "name").out == (
        "FITS_AFTER_PREEMPTING\n"
    )
    assert json.loads(cli("schema", "explanation").out)["$id"] == "urn:kantopt:v1alpha1:Explanation"


def test_wide_names_the_nodes(cli: Cli) -> None:
    done = ask(cli, "snap.yaml", "huge.yaml", "huge", "-o", "wide")
    assert "capacity  gpu-[001,003]" in done.out
    assert done.out.splitlines()[2] == "3 nodes, 2 jobs: 2 running pods, 4 pending pods."


def test_a_file_gets_the_document_and_stdout_the_table(cli: Cli) -> None:
    asked = ("snap.yaml", "huge.yaml", "huge")
    beside = ask(cli, *asked, "-O", "out.json")
    assert beside.out == ask(cli, *asked).out
    assert ask(cli, *asked, "-q", "-O", "quiet.yaml").out == ""
    assert yaml.safe_load(Path("quiet.yaml").read_text())["kind"] == "Explanation"
    assert json.loads(Path("out.json").read_text())["job"] == "default/huge"


def test_a_job_with_a_space_in_its_name_has_remedies_too(cli: Cli) -> None:
    Path("spaced.yaml").write_text(Path("huge.yaml").read_text().replace("huge", '"too huge"'))
    done = ask(cli, "snap.yaml", "spaced.yaml", "too huge")
    assert (done.code, done.err) == (0, "")
    assert "job default/too huge, priority 1000" in done.out


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="nothing tells the memory in use")
def test_where_memory_runs_short_what_is_known_is_written(cli: Cli) -> None:
    limited = ("--memory-limit", "1Mi", "--log-format", "json", "-o", "json")
    done = ask(cli, "snap.yaml", "huge.yaml", "huge", *limited)
    assert done.code == 0
    told = json.loads(done.out)
    assert not told["complete"]
    said = "the memory limit of 1 MiB ended the search: this is what was known (--memory-limit)"
    assert told["notes"][0] == said
    news = [json.loads(line) for line in done.err.splitlines()]
    assert next(one["message"] for one in news if one["event"] == "warning") == said


def test_a_change_is_tried_out(cli: Cli) -> None:
    done = ask(cli, "snap.yaml", "huge.yaml", "huge", "-w", "add-nodes=gpu-002:3")
    assert "WHAT IF add-nodes=gpu-002:3\n  FITS NOW: its 4 pods have room" in done.out
    assert "verdict                  NEVER     FITS_NOW" in done.out


def test_a_patch_is_merged_by_names(cli: Cli) -> None:
    Path("patch.yaml").write_text(
        "nodes:\n- {name: gpu-001, allocatable: {nvidia.com/gpu: 24}}\n"
        "- {name: gpu-003, remove: true}\n"
        "jobs:\n- {name: batch-1, namespace: team-b, remove: true}\n"
    )
    done = ask(cli, "snap.yaml", "huge.yaml", "huge", "-w", "@patch.yaml", "-o", "json")
    change = json.loads(done.out)["whatIf"]
    assert change["verdict"]["status"] == "FITS_NOW"
    row = {"name": "nodes available to main", "before": "1 of 3", "after": "2 of 2"}
    assert row in change["differences"]


def test_of_a_job_that_is_held_back_it_is_said_how_it_counts(cli: Cli) -> None:
    dump = str(ROOT / "instances" / "kubernetes" / "cluster.json")
    done = cli("explain", dump, "team-a/finetune")
    assert done.code == 64
    said = "team-a/finetune is held back by scheduling gates and left out: it counts with --gated"
    assert done.err.endswith(f"; {said}\n")


def test_of_one_of_several_jobs_that_are_held_back_it_is_said_how_it_counts(cli: Cli) -> None:
    dump = str(ROOT / "instances" / "kubernetes" / "cluster.json")
    done = cli("explain", dump, "team-a/finetune-x")
    assert done.code == 64
    assert done.err.endswith("; what is held back counts with --gated\n")


def test_of_a_job_of_slurm_that_is_held_or_kept_by_a_limit_it_is_said_how_it_counts(
    cli: Cli,
) -> None:
    waits = "UserId=u(1) Account=x JobState=PENDING Partition=p NumNodes=1 NumCPUs=2 NumTasks=1"
    Path("slurm.txt").write_text(
        "NodeName=a CPUTot=4 RealMemory=1000 State=IDLE Partitions=p\n"
        "PartitionName=p Nodes=a State=UP\n"
        f"JobId=203 Priority=5 Reason=Priority {waits}\n"
        f"JobId=204 Priority=0 Reason=JobHeldUser {waits}\n"
        f"JobId=205 Priority=5 Reason=PartitionNodeLimit {waits}\n"
    )
    for name, why in (
        ("x/204", "held (JobHeldUser)"),
        ("205", "kept by a limit of accounting, QOS or partition (PartitionNodeLimit)"),
    ):
        for done in (cli("explain", "slurm.txt", name), cli("plan", "slurm.txt", "--for", name)):
            assert done.code == 64
            job = f"x/{name.removeprefix('x/')}"
            said = f"{job} is one of the pending jobs {why}, left out: it counts with --gated"
            assert done.err.endswith(f"; {said}\n")
    assert ask(cli, "slurm.txt", "x/204", "--gated").code == 0


def test_a_running_job_is_explained_as_well(cli: Cli) -> None:
    done = ask(cli, "snap.yaml", "jobs.yaml", "batch-1")
    assert done.out.startswith("RUNS: all its 2 pods run, and may not move; none of the")
    assert "pinned  job team-b/batch-1 pod set worker  0 moves: not movable" in done.out


def test_a_kubectl_dump(cli: Cli) -> None:
    dump = ROOT / "instances" / "kubernetes" / "cluster.json"
    told = cli("plan", str(dump), "--engine", "fast", "-o", "json")
    jobs = [item for item in json.loads(told.out)["jobs"] if "assignments" not in str(item)]
    own = f"{jobs[0]['namespace']}/{jobs[0]['name']}"
    done = ask(cli, str(dump), own)
    assert done.code == 0
    assert f"job {own}, priority" in done.out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("snap.yaml",), 64, "found no job, expected its NAMESPACE/NAME"),
        (("snap.yaml", "jobs.yaml"), 64, "or --job; pending: "),
        (("llm-8",), 64, "found llm-8 alone, which is no file"),
        (
            ("snap.yaml", "jobs.yaml", "zzz"),
            64,
            "found zzz, expected a job of the input; pending: ",
        ),
        (("snap.yaml", "jobs.yaml", "llm-9"), 64, "did you mean llm-8?"),
        (("nosuch.yaml", "jobs.yaml", "llm-8"), 66, "nosuch.yaml"),
        (("jobs.yaml", "llm-8"), 65, "ClusterSnapshot"),
        (("snap.yaml", "jobs.yaml", "llm-8", "-w", "drain=gpu"), 64, "--what-if: found drain=gpu"),
        (("snap.yaml", "jobs.yaml", "llm-8", "-w", "remove=llm-8"), 64, "that leave team-a/llm-8"),
        (("snap.yaml", "jobs.yaml", "llm-8", "-w", "@no.yaml"), 66, "no.yaml"),
        (("snap.yaml", "none.yaml", "llm-8"), 64, "expected a job of the input; none is pending"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    cli: Cli, arguments: tuple[str, ...], code: int, words: str
) -> None:
    done = ask(cli, *arguments)
    assert (done.code, done.out) == (code, "")
    assert words in done.err
    assert done.err.count("\n") == 1


def _slow(*arguments: object) -> Iterator[Explanation]:
    """Explain as far as the nodes, then never end."""
    for told in explain(*arguments):  # type: ignore[arg-type]
        yield told
        time.sleep(60)


def test_the_time_limit_ends_it_with_what_is_known(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "explain", _slow)
    done = ask(cli, "snap.yaml", "huge.yaml", "huge", "--time-limit", "1s")
    assert done.code == 0
    assert "OPEN: not examined yet." in done.out
    assert "NODES as things stand\n  1/3 nodes are available" in done.out
    assert "the time limit ended the search: this is what was known" in done.out


def test_what_the_clock_ended_for_want_of_a_processor_says_so(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had work all the time, and did none of it for most of it."""
    monkeypatch.setattr(process, "explain", _slow)
    monkeypatch.setattr("kantopt.processor.own_use", CpuUse)
    done = ask(cli, "snap.yaml", "huge.yaml", "huge", "--time-limit", "3s", "-o", "json")
    first, second = json.loads(done.out)["notes"][:2]
    assert first.startswith("the time limit ended the search")
    assert second.startswith("starved of CPU: ran ")


def test_what_came_to_its_end_had_processor_enough(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kantopt.processor.own_use", lambda: CpuUse(ran=0.5, waited=500.0))
    assert "CPU" not in ask(cli, "snap.yaml", "huge.yaml", "huge").out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_with_what_is_known(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int
) -> None:
    """The signal comes once the nodes have been told, however long that takes."""

    def signalled(*arguments: object) -> Iterator[Explanation]:
        told = _slow(*arguments)
        yield next(told)
        os.kill(os.getppid(), number)
        yield from told

    monkeypatch.setattr(process, "explain", signalled)
    done = ask(cli, "snap.yaml", "huge.yaml", "huge", "--time-limit", "50s")
    assert done.code == code
    assert f"interrupted by {number.name}: this is what was known" in done.out
    assert "1/3 nodes are available" in done.out


def test_a_fault_is_said_and_what_is_known_is_written(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> Iterator[Explanation]:
        yield next(iter(explain(*arguments)))  # type: ignore[arg-type]
        raise ValueError("what is this?")

    monkeypatch.setattr(process, "explain", broken)
    done = ask(cli, "snap.yaml", "huge.yaml", "huge")
    assert done.code == 0
    assert "explaining failed: ValueError: what is this?" in done.out
