"""``metrics``, ``convert``, ``schema``, ``models`` and ``render``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from kantopt.schema.files import load_native
from kantopt.schema.published import published_schema
from tests.cli.conftest import Cli

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn-1,64000,262144,2,P100\n"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np-1,4000,8192,1,500,\n"


@pytest.fixture(autouse=True)
def _in_folder(files: Path) -> None:
    """All of these run in the folder."""


def test_metrics_of_a_snapshot_have_one_column(cli: Cli) -> None:
    done = cli("metrics", "snap.yaml", "jobs.yaml", "--slot", "16")
    assert done.code == 0
    assert "GPUs allocated (GAR)" in done.out
    assert "8/24 GPUs 33.33%" in done.out
    assert "2/3 nodes 66.67%" in done.out
    assert "AFTER" not in done.out
    assert "FR16" in done.out
    assert "1h30m" in done.out


def test_no_more_gpus_are_allocated_than_there_are(cli: Cli) -> None:
    """Where some have broken, or who is nominated waits for those that terminate."""
    Path("full.yaml").write_text(
        """
apiVersion: kantopt/v1alpha1
kind: ClusterSnapshot
nodes:
- {name: a, allocatable: {cpu: 8, nvidia.com/gpu: 4}}
- {name: b, allocatable: {cpu: 8, nvidia.com/gpu: 4}}
jobs:
- name: j
  podSets:
  - {name: w, count: 1, requests: {nvidia.com/gpu: 6}, assignments: [{node: a, count: 1}]}
"""
    )
    done = cli("metrics", "full.yaml")
    assert "4/8 GPUs 50.00%" in done.out, "one has 2 GPUs too few, and the other 4 free"


def test_metrics_with_a_plan_have_two(cli: Cli) -> None:
    cli("plan", "snap.yaml", "jobs.yaml", "-O", "plan.yaml", "-q")
    done = cli("metrics", "snap.yaml", "plan.yaml")
    row = next(line for line in done.out.splitlines() if line.startswith("GPUs allocated"))
    assert row.split("  ")[-2:] == ["8/24 GPUs 33.33%", "20/24 GPUs 83.33%"]
    assert "16 -> 0" in done.out
    assert "D_node" in done.out


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_metrics_as_a_document(cli: Cli, form: str) -> None:
    out = cli("metrics", "snap.yaml", "jobs.yaml", "-o", form).out
    report = json.loads(out) if form == "json" else yaml.safe_load(out)
    figures = {f["metric"]: f for f in report["figures"] if not f.get("scope")}
    assert figures["allocation"]["before"] == {"value": 8000, "of": 24000}


@pytest.mark.parametrize(
    "arguments",
    [
        ("metrics", "snap.yaml", "plan.yaml"),
        ("verify", "snap.yaml", "plan.yaml"),
        ("verify", "snap.yaml"),
        ("convert", "snap.yaml", "jobs.yaml", "--to", "kubernetes", "-O", "objects.yaml"),
    ],
)
def test_what_reports_say_as_documents_is_what_their_schemas_say(
    cli: Cli, arguments: tuple[str, ...]
) -> None:
    cli("plan", "snap.yaml", "jobs.yaml", "-O", "plan.yaml", "-q")
    report = json.loads(cli(*arguments, "-o", "json").out)
    schema = json.loads(cli("schema", report["kind"]).out)
    assert schema == published_schema(report["kind"])
    Draft202012Validator(schema).validate(report)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--slot", "16", "--slot-resource", "cpus"), "did you mean cpu?"),
        (("--slot", "16", "--slot-devices", "numa"), "the nodes have no devices"),
        (("--slot", "many"), "not a quantity"),
        (("--slot", "0"), "more than nothing"),
    ],
)
def test_a_slot_that_makes_no_sense(cli: Cli, arguments: tuple[str, ...], said: str) -> None:
    done = cli("metrics", "snap.yaml", *arguments)
    assert done.code == 64
    assert said in done.err
    assert done.err.count("\n") == 1


def test_openb_becomes_documents_that_can_be_planned(cli: Cli) -> None:
    Path("nodes.csv").write_text(NODES)
    Path("pods.csv").write_text(PODS)
    done = cli("convert", "--from", "openb", "pods.csv", "nodes.csv", "-O", "cluster.json")
    assert (done.code, done.out) == (0, "")
    assert [pair[1].kind for pair in load_native(["cluster.json"])] == [  # type: ignore[attr-defined]
        "ClusterSnapshot",
        "JobList",
    ]
    assert cli("plan", "cluster.json").out.startswith("Place 1 pod of 1 job.")


def test_converted_yaml_reads_back(cli: Cli) -> None:
    Path("nodes.csv").write_text(NODES)
    Path("pods.csv").write_text(PODS)
    out = cli("convert", "--from", "openb", "pods.csv", "nodes.csv").out
    Path("all.yaml").write_text(out)
    assert len(load_native(["all.yaml"])) == 2


def test_kubernetes_objects_are_converted_with_notes_on_stderr(cli: Cli) -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n-1", "uid": "1"},
        "status": {"allocatable": {"cpu": "4", "pods": "110"}},
    }
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "uid": "2"}}
    listed = {"apiVersion": "v1", "kind": "List", "items": [node, other]}
    Path("k.json").write_text(json.dumps(listed))
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "team", "uid": "3"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"memory": "64"}}}]},
    }
    Path("small.json").write_text(json.dumps({**listed, "items": [node, pod]}))
    doubt = "kantopt: note: memory: 64 of team/p is 64 without a unit for bytes, perhaps 64Gi"
    assert doubt in cli("convert", "--from", "kubernetes", "small.json").err
    done = cli("convert", "--from", "kubernetes", "k.json", "-o", "json")
    assert done.code == 0
    assert '"n-1"' in done.out
    assert done.err.startswith("kantopt: note: ")
    assert cli("convert", "--from", "kubernetes", "k.json", "-q").err == ""
    assert cli("convert", "--from", "kubernetes", "snap.yaml").code == 65


def test_the_way_back_names_all_that_comes_out_different_if_asked(cli: Cli) -> None:
    snapshot = {
        "apiVersion": "kantopt/v1alpha1",
        "kind": "ClusterSnapshot",
        "nodes": [{"name": f"n-{i}", "price": 3} for i in range(5)],
    }
    Path("native.json").write_text(json.dumps(snapshot))
    lost = "kantopt: note: nodes.price: not told, or not all of it: "
    few = cli("convert", "--to", "kueue", "native.json", "-O", "k.yaml").err
    assert f"{lost}5 (n-0, n-1, n-2, ...)\n" in few
    every = cli("convert", "--to", "kueue", "native.json", "-O", "k.yaml", "-o", "wide").err
    cli("convert", "--to", "kueue", "native.json", "-O", "again.json")
    assert json.loads(Path("again.json").read_text()) == yaml.safe_load(Path("k.yaml").read_text())
    assert [f"{lost}n-{i}\n" in every for i in range(5)] == [True] * 5
    for words in (("--to", "kueue", "-o", "yaml"), ("--from", "kubernetes", "-o", "wide")):
        assert cli("convert", "native.json", *words).code == 64
    done = cli("convert", "--to", "kueue", "native.json", "-O", "k.yaml", "-o", "json")
    assert (done.code, done.err) == (0, "")
    told = json.loads(done.out)
    assert (told["kind"], told["to"]) == ("Conversion", "kueue")
    assert {
        "text": "nodes.price: not told, or not all of it",
        "count": 5,
        "names": [f"n-{i}" for i in range(5)],
    } in told["differences"]
    assert "kind: List" in Path("k.yaml").read_text()


def test_vm_rescheduling_takes_one_json_file(cli: Cli) -> None:
    Path("vm.json").write_text('{"cluster_list": []}')
    assert cli("convert", "--from", "vm-rescheduling", "vm.json").code == 0
    assert cli("convert", "--from", "vm-rescheduling", "vm.json", "vm.json").code == 64
    Path("vm.json").write_text("[]")
    assert cli("convert", "--from", "vm-rescheduling", "vm.json").code == 65
    assert cli("convert", "--from", "openb", "-", "-").code == 64


@pytest.mark.parametrize("kind", ["snapshot", "ClusterSnapshot", "jobs", "model", "PLAN"])
def test_schema_prints_json(cli: Cli, kind: str) -> None:
    done = cli("schema", kind)
    assert json.loads(done.out)["$schema"].endswith("2020-12/schema")


def test_an_unknown_schema_is_a_usage_error(cli: Cli) -> None:
    done = cli("schema", "plans")
    assert done.code == 64
    assert "did you mean Plan?" in done.err


def test_models_are_listed_and_printed(cli: Cli) -> None:
    listed = cli("models").out
    assert "mixed" in listed
    assert "for each priority (unplaced[pod], disruption_cost)" in listed
    model = yaml.safe_load(cli("models", "training").out)
    assert model["kind"] == "Model"
    assert "extends" not in model
    assert json.loads(cli("models", "training", "-o", "json").out)["kind"] == "Model"


def test_without_a_name_all_models_are_printed_as_documents(cli: Cli) -> None:
    models = list(yaml.safe_load_all(cli("models", "-o", "yaml").out))
    assert {model["kind"] for model in models} == {"Model"}
    assert cli("models", "-O", "all.yaml").out == ""
    assert list(yaml.safe_load_all(Path("all.yaml").read_text())) == models
    listed = cli("models").out.splitlines()[1:]
    assert [model["metadata"]["name"] for model in models] == [line.split()[0] for line in listed]


def test_an_unknown_model_is_named_with_those_there_are(cli: Cli) -> None:
    done = cli("models", "mixd")
    assert done.code == 64
    assert "did you mean mixed?" in done.err


def test_a_plan_is_rendered_for_kubectl(cli: Cli) -> None:
    cli("plan", "snap.yaml", "jobs.yaml", "-O", "plan.yaml", "-q")
    lines = cli("render", "plan.yaml", "--to", "kubectl", "--evict-anyway").out.splitlines()
    requests = [json.loads(line) for line in lines]
    assert any(request["verb"] == "create" for request in requests)
    script = cli("render", "plan.yaml", "--to", "kubectl", "--evict-anyway", "--shell").out
    assert script.startswith("#!")
    assert cli("render", "snap.yaml", "--to", "kubectl").code == 65


def test_a_plan_is_drawn(cli: Cli) -> None:
    cli("plan", "snap.yaml", "jobs.yaml", "-O", "plan.yaml", "-q")
    done = cli("render", "snap.yaml", "jobs.yaml", "plan.yaml", "--to", "svg", "-O", "plan.svg")
    assert (done.code, done.out) == (0, "")
    assert "team-a/llm-8/worker x1: 8 GPUs, priority 1000, bound" in Path("plan.svg").read_text()
    assert cli("render", "snap.yaml", "--to", "svg").out.startswith("<svg")
    assert cli("render", "plan.yaml", "--to", "svg").code == 65
    assert cli("render", "snap.yaml", "--to", "svg", "--shell").code == 64


def test_metrics_of_a_single_node_are_singular(cli: Cli) -> None:
    snapshot = {"apiVersion": "kantopt/v1alpha1", "kind": "ClusterSnapshot"}
    node = {"name": "a", "allocatable": {"nvidia.com/gpu": 1}}
    Path("one.json").write_text(json.dumps({**snapshot, "nodes": [node]}))
    out = cli("metrics", "one.json").out
    assert "0/1 node " in out
    assert "0/1 GPU " in out


@pytest.mark.parametrize(
    ("command", "kind"), [("verify", "Verdict"), ("metrics", "Metrics"), ("plan", "Plan")]
)
def test_a_file_without_a_form_gets_the_document_and_stdout_the_table(
    cli: Cli, command: str, kind: str
) -> None:
    table = cli(command, "snap.yaml").out
    assert cli(command, "snap.yaml", "-O", "out.txt").out == table
    assert yaml.safe_load(Path("out.txt").read_text())["kind"] == kind
    assert cli(command, "snap.yaml", "-o", "table", "-O", "out.txt").out == ""
    assert Path("out.txt").read_text() == table


def test_a_log_becomes_a_cluster_and_a_trace_that_read_back(cli: Cli) -> None:
    Path("a.swf").write_text("; MaxProcs: 8\n1 0 5 100 4 -1 -1 4 200 -1 1 3 1 -1 1 1 -1 -1\n")
    done = cli("convert", "--from", "swf", "a.swf", "--processor", "nvidia.com/gpu", "-O", "t.yaml")
    assert (done.code, done.out) == (0, "")
    snapshot, trace = [part for _, part in load_native(["t.yaml"])]
    assert snapshot.nodes[0].allocatable == {"nvidia.com/gpu": 8}  # type: ignore[attr-defined]
    assert trace.metadata.name == "a"  # type: ignore[attr-defined]
    assert done.err.splitlines() == [f"kantopt: note: {note}" for note in trace.notes]  # type: ignore[attr-defined]


def test_a_trace_of_two_files_is_refused(cli: Cli) -> None:
    Path("a.swf").write_text(";\n")
    done = cli("convert", "--from", "swf", "a.swf", "a.swf")
    assert done.code == 64
    assert "--from swf: found 2 files, expected one" in done.err


def test_a_broken_log_is_bad_data_and_writes_nothing(cli: Cli) -> None:
    Path("a.swf").write_text("1 2 3\n")
    done = cli("convert", "--from", "swf", "a.swf", "-O", "t.yaml")
    assert done.code == 65
    assert done.err.startswith("kantopt: error: a.swf: line 1: found 3 fields, expected the 18")
    assert not Path("t.yaml").exists()
