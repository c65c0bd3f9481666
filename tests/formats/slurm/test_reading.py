"""What is made of single fields, what is refused, and which jobs wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from kantopt.errors import BadDataError, UsageError
from kantopt.formats.imported import Imported
from kantopt.formats.slurm.cluster import import_slurm
from kantopt.formats.slurm.eligible import read_constraint
from kantopt.formats.slurm.gather import Records
from kantopt.formats.slurm.policy import Policy, ranks
from kantopt.formats.slurm.records import Record, memory_of, span_seconds
from kantopt.formats.slurm.tres import read_gres, read_tres
from kantopt.planning.question import Import, read_question
from kantopt.schema.files import load_raw, parse_documents
from kantopt.schema.places import located
from kantopt.schema.raw import SLURM_RECORDS, SLURM_TEXT, RawDocument

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "slurm"
NODE = "NodeName=n1 CPUTot=8 RealMemory=1000 Gres=gpu:a100:2 State=IDLE Partitions=main\n"


def cluster(text: str, **options: bool) -> Imported:
    return import_slurm(parse_documents(text.encode(), "dump.txt"), **options)


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("gpu:h100:8(S:0-1)", {"nvidia.com/gpu": 8, "gres/gpu:h100": 8}),
        ("gres:gpu:2,gres/nic:1", {"nvidia.com/gpu": 2, "gres/nic": 1}),
        (
            "gpu:a100:1(IDX:0),gpu:h100:2(IDX:4,6)",
            {"nvidia.com/gpu": 3, "gres/gpu:a100": 1, "gres/gpu:h100": 2},
        ),
        ("gpu", {"nvidia.com/gpu": 1}),
        ("gpu:h100", {"nvidia.com/gpu": 1, "gres/gpu:h100": 1}),
        ("shard:2K", {"gres/shard": 2048}),
        ("", {}),
    ],
)
def test_generic_resources(text: str, amounts: dict[str, int]) -> None:
    assert read_gres(text) == amounts


def test_trackable_resources_count_typed_ones_beside_their_total() -> None:
    found = read_tres("cpu=4,mem=1.50G,node=2,billing=4,gres/gpu=3,gres/gpu:h100=2")
    total = {"nvidia.com/gpu": 3, "gres/gpu:h100": 2}
    assert found == {"cpu": 4000, "memory": 3 * 2**29, **total}
    assert read_tres("cpu") is None
    assert read_tres("cpu=many") is None


@pytest.mark.parametrize(
    ("text", "alternatives"),
    [
        ("", ((),)),
        ("ib", (("ib",),)),
        ("ib&h100", (("h100", "ib"),)),
        ("a|b&c", (("a", "c"), ("b", "c"))),
        ("a|(b&c)", (("a",), ("b", "c"))),
        ("(a|b)&(c|d)", (("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"))),
        ("[a|b]", None),
        ("a*2&b", None),
        ("a&", None),
        ("(a", None),
        ("a)", None),
    ],
)
def test_constraints(text: str, alternatives: object) -> None:
    assert read_constraint(text) == alternatives


def test_spans_and_memory() -> None:
    assert span_seconds("1-02:03:04") == 93784
    assert span_seconds("10:00") == 600
    assert span_seconds("soon") is None
    assert memory_of("512000") == 512000 * 2**20
    assert memory_of("1T") == 2**40
    assert memory_of("lots") is None


def test_many_priorities_become_ten() -> None:
    assert ranks([5, 9, 9, 7]) == {5: 1, 7: 2, 9: 3}
    found = ranks(range(100))
    assert sorted(set(found.values())) == list(range(1, 11))
    assert all(found[k] <= found[k + 1] for k in range(99))


def test_qos_that_may_preempt_some_of_the_lower_only_are_told() -> None:
    rows = {"high": "mid", "mid": "low", "low": "", "top": "low,mid,high"}
    qos = [
        Record("Qos", {"Qos": name, "Preempt": text, "PreemptMode": "cluster"}, "f", [])
        for name, text in rows.items()
    ]
    fields = {"PreemptType": "preempt/qos", "PreemptMode": "REQUEUE"}
    config = Record("Config", fields, "f", [])
    records = Records([RawDocument("f", 0, {SLURM_RECORDS: (config, *qos)})], [])
    policy = Policy(records)
    assert [policy.standing(["p"], name).tier for name in ("low", "mid", "high", "top")] == [
        0,
        1,
        2,
        3,
    ]
    assert policy.standing(["p"], "mid").mode == "REQUEUE"
    assert policy.standing(["p"], "top").mode == "OFF"
    assert any("high, not low" in line for line in records.notes.lines())


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        (NODE.replace("8", "eight"), "NodeName=n1: CPUTot", "a whole number"),
        (NODE.replace("gpu:a100:2", "a:b:c:d:1"), "NodeName=n1: Gres", "generic resources"),
        ("NodeName=n1 State=IDLE\n", "NodeName=n1: CPUTot", "the number of CPUs"),
        (NODE + "JobId=1 JobState=RUNNING NodeList=n[1\n", "JobId=1: NodeList", "a list of nodes"),
        (NODE + "JobId=1 JobState=PENDING SubmitTime=now\n", "JobId=1: SubmitTime", "a time"),
        (NODE + "JobId=1\n", "JobId=1: JobState", "a state"),
        (
            f"{NODE}SwitchName=a Switches=b\nSwitchName=b Switches=c\nSwitchName=c Switches=b\n",
            "SwitchName=b: Switches",
            "switches of which none is above itself",
        ),
    ],
)
def test_what_cannot_be_read_is_named(text: str, path: str, expected: str) -> None:
    with pytest.raises(BadDataError) as caught:
        cluster(text)
    found = caught.value.problems
    assert any(p.path == path and p.expected.startswith(expected) for p in found), found


@pytest.mark.parametrize(
    "error",
    [
        "out of reach",
        {"description": "out of reach", "source": "s"},
        {"error": "out of reach", "errno": 1},
    ],
)
def test_what_slurm_printed_instead_of_an_answer_is_no_empty_cluster(error: object) -> None:
    printed = {"meta": {}, "jobs": [], "errors": [error], "warnings": []}
    with pytest.raises(BadDataError, match=r"errors\[0\]: found \"out of reach\""):
        import_slurm([*parse_documents(NODE.encode(), "n"), RawDocument("squeue.json", 0, printed)])


def test_text_that_does_not_go_on_as_it_began_is_refused() -> None:
    with pytest.raises(BadDataError, match="line 2: found 'hello'"):
        import_slurm([RawDocument("f", 0, {SLURM_TEXT: f"# comment\nhello\n{NODE}"})])


def test_what_is_wrong_in_a_record_is_told_with_the_line_that_it_begins_on(tmp_path: Path) -> None:
    job = "JobId={} Partition=main JobState=PENDING\n   NumNodes=1 NumCPUs={}\n\n"
    file = tmp_path / "jobs.txt"
    file.write_text(f"{NODE}\n{job.format(1, 8)}{job.format(2, 'x')}")
    with pytest.raises(BadDataError) as refused:
        read_question([str(file)])
    (said,) = map(str, located(refused.value.problems))
    assert said.endswith(
        'JobId=2: NumCPUs: found "x", expected a whole number or a range such as 4-8 (line 6)'
    )


def test_held_jobs_count_only_if_asked_for() -> None:
    text = f"{NODE}JobId=1 JobState=PENDING Reason=JobHeldUser Account=ml Partition=main\n"
    first = cluster(text)
    assert first.pending.jobs == ()
    assert "pending jobs held (JobHeldUser) are left out: 1 (ml/1)" in first.notes
    assert [job.name for job in cluster(text, gated=True).pending.jobs] == ["1"]


def test_patterns_choose_jobs_and_unknown_ones_are_refused() -> None:
    raws = load_raw([str(path) for path in (FIXTURES / "json-24.11").iterdir()])
    jobs = import_slurm(raws, pending=["ml/50[34]"]).pending.jobs
    assert [job.name for job in jobs] == ["503", "504"]
    with pytest.raises(UsageError, match="no pending job matches"):
        import_slurm(raws, pending=["ml/999"])
    with pytest.raises(UsageError, match="held"):
        import_slurm(raws, pending=["ml/505"])


def test_a_snapshot_of_slurm_is_told_by_its_content() -> None:
    paths = [str(path) for path in (FIXTURES / "gpus-22.05-text").iterdir()]
    question = read_question(paths, Import())
    assert len(question.snapshot.nodes) == 8
    assert question.imported
    assert {job.name for job in question.pending} == {"2", "12", "13", "14", "18", "19"}


def test_two_clusters_of_two_kinds_are_one_too_many(tmp_path: Path) -> None:
    (tmp_path / "nodes.txt").write_text(NODE)
    (tmp_path / "pod.json").write_text('{"apiVersion": "v1", "kind": "Pod"}')
    with pytest.raises(BadDataError, match="one cluster"):
        read_question([str(tmp_path / "nodes.txt"), str(tmp_path / "pod.json")])


def test_a_job_asked_twice_in_two_forms_is_one() -> None:
    paths = [*(FIXTURES / "gpus-22.05-text").iterdir(), FIXTURES / "gpus-22.05-json/squeue.json"]
    once = import_slurm(load_raw([str(path) for path in paths[:-1]]))
    both = import_slurm(load_raw([str(path) for path in paths]))
    assert len(both.snapshot.jobs) == len(once.snapshot.jobs)
    assert len(both.pending.jobs) == len(once.pending.jobs)


def test_jobs_without_their_nodes_are_left_out_and_told() -> None:
    read = cluster("JobId=1 JobState=RUNNING Partition=main NodeList=n7 NumNodes=1\n")
    assert read.snapshot.jobs == ()
    assert any("nodes that are not in the input are left out" in line for line in read.notes)
    assert read.notes[0].startswith("the input has no nodes")


def test_a_component_that_is_completing_beside_one_that_runs_is_of_the_same_job() -> None:
    one, other = (
        f"JobId={k} HetJobId=4 HetJobOffset={k - 4} Partition=main NodeList=n1 NumNodes=1 "
        for k in (4, 5)
    )
    read = cluster(f"{NODE}{one}JobState=COMPLETING\n{other}JobState=RUNNING\n")
    (job,) = read.snapshot.jobs
    assert [(p.name, p.terminating) for p in job.pod_sets] == [("4+0", True), ("4+1", False)]
    assert not job.movable


def test_blocks_are_the_same_from_the_configuration_and_from_what_slurm_shows() -> None:
    nodes = "".join(NODE.replace("n1", f"b{k}") for k in range(1, 9))
    conf = "".join(f"BlockName=blk{k} Nodes=b[{2 * k - 1}-{2 * k}]\n" for k in range(1, 5))
    conf += "BlockSizes=2,4,8\n"
    # scontrol show topology of 24.11
    shown = "".join(
        f"BlockName=blk{k} BlockIndex={k - 1} Nodes=b[{2 * k - 1}-{2 * k}] BlockSize=2\n"
        for k in range(1, 5)
    )
    shown += "AggregatedBlock=blk[1-2] BlockIndex=4 Nodes=b[1-4] BlockSize=4\n"
    shown += "AggregatedBlock=blk[3-4] BlockIndex=5 Nodes=b[5-8] BlockSize=4\n"
    shown += "AggregatedBlock=blk[1-4] BlockIndex=6 Nodes=b[1-8] BlockSize=8\n"
    one, other = (cluster(nodes + text).snapshot for text in (conf, shown))
    assert [level.name for level in one.topology.levels] == ["blocks-4", "blocks-2", "block"]
    assert one == other


TOPOLOGIES = """\
- topology: tree
  cluster_default: true
  tree:
    switches:
    - {switch: s1, nodes: "n[1-2]"}
    - {switch: s2, nodes: "n[3-4]"}
    - {switch: top, children: "s[1-2]"}
- topology: blocks
  block:
    block_sizes: [2]
    blocks:
    - {block: s1, nodes: "n[5-6]"}
    - {block: b2, nodes: "n[7-8]"}
- topology: none
  flat: true
"""


def in_topologies(partitions: str, topologies: str = TOPOLOGIES) -> Imported:
    bare = NODE.replace(" Partitions=main", "")
    nodes = "".join(bare.replace("n1", f"n{k}") for k in range(1, 11))
    return import_slurm(
        [
            *parse_documents(topologies.encode(), "topology.yaml"),
            *parse_documents((nodes + partitions).encode(), "dump.txt"),
        ]
    )


def test_a_node_is_in_the_topology_of_its_partition_on_the_levels_of_the_default() -> None:
    imported = in_topologies(
        "PartitionName=main Nodes=n[1-4]\n"
        "PartitionName=gpu Nodes=n[5-8] Topology=blocks\n"
        "PartitionName=rest Nodes=n[9-10] Topology=none\n"
    )
    assert [level.name for level in imported.snapshot.topology.levels] == ["switch-1", "leaf"]
    domains = {
        node.name: tuple(node.labels[f"topology.slurm/{level}"] for level in ("switch-1", "leaf"))
        for node in imported.snapshot.nodes
    }
    assert domains == {
        **dict.fromkeys(("n1", "n2"), ("top", "s1")),
        **dict.fromkeys(("n3", "n4"), ("top", "s2")),
        **dict.fromkeys(("n5", "n6"), ("blocks/s1", "blocks/s1")),
        **dict.fromkeys(("n7", "n8"), ("blocks/b2", "blocks/b2")),
        **dict.fromkeys(("n9", "n10"), ("none/flat", "none/flat")),
    }
    assert not [line for line in imported.notes if "topologies" in line]


def test_a_node_whose_partitions_have_several_topologies_is_in_the_default_which_is_told() -> None:
    partitions = "PartitionName=all Nodes=n[1-10]\nPartitionName=gpu Nodes=n[1-6] Topology=blocks\n"
    imported = in_topologies(partitions)
    leaves = [node.labels.get("topology.slurm/leaf") for node in imported.snapshot.nodes]
    assert leaves == ["s1", "s1", "s2", "s2", "blocks/s1", "blocks/s1", None, None, None, None]
    assert not any("several topologies" in line for line in imported.notes)
    imported = in_topologies(partitions, TOPOLOGIES.replace("n[5-6]", "n[1-2]"))
    assert imported.snapshot.nodes[0].labels["topology.slurm/leaf"] == "s1"
    assert any("several topologies" in line and "2 (n1, ...)" in line for line in imported.notes)


def test_json_of_25_11_names_the_topology_of_a_partition() -> None:
    partition = {
        "name": "gpu",
        "nodes": {"configured": "n1"},
        "topology": "blocks",
        "partition": {"state": ["UP"]},
    }
    raws = [
        *parse_documents(TOPOLOGIES.replace("n[5-6]", "n1").encode(), "topology.yaml"),
        *parse_documents(NODE.encode(), "nodes.txt"),
        RawDocument("partitions.json", 0, {"partitions": [partition], "errors": []}),
    ]
    (node,) = import_slurm(raws).snapshot.nodes
    assert node.labels["topology.slurm/leaf"] == "blocks/s1"


@pytest.mark.parametrize(
    ("maximums", "whole", "sharing"),
    [
        ({"shares": 0}, True, False),
        ({"shares": 0x8000 + 4}, False, True),
        ({"shares": 1, "oversubscribe": {"jobs": 1, "flags": []}}, False, False),
        ({"shares": 0, "oversubscribe": {"jobs": 0, "flags": []}}, True, False),
        ({"shares": 0x8000 + 1}, False, False),
        ({"shares": 4, "oversubscribe": {"jobs": 4, "flags": []}}, False, False),
        ({"shares": 0x8004, "oversubscribe": {"jobs": 4, "flags": ["force"]}}, False, True),
    ],
)
def test_json_of_a_partition_tells_who_shares_and_who_takes_whole_nodes(
    maximums: dict[str, object], whole: bool, sharing: bool
) -> None:
    partition = {"name": "main", "nodes": {"configured": "n1"}, "maximums": maximums}
    job = {"job_id": 7, "job_state": ["PENDING"], "partition": "main", "cpus": 1}
    imported = import_slurm(
        [
            *parse_documents(NODE.encode(), "nodes.txt"),
            RawDocument("partitions.json", 0, {"partitions": [partition], "errors": []}),
            RawDocument("squeue.json", 0, {"jobs": [job], "errors": []}),
        ]
    )
    counts = [p.requests.get("nvidia.com/gpu") for j in imported.pending.jobs for p in j.pod_sets]
    assert counts == ([] if sharing else [2 if whole else None])
    assert any("that may share CPUs" in note for note in imported.notes) is sharing


def test_sinfo_in_json_tells_tiers_and_states_of_partitions() -> None:
    files = {path.name: path.read_text() for path in (FIXTURES / "json-24.05").iterdir()}
    assert '"state": [\n      "DRAIN"' in files["sinfo.json"]
    for state, out in (("DRAIN", False), ("DOWN", True)):
        files["sinfo.json"] = files["sinfo.json"].replace(
            '"state": [\n      "DRAIN"', f'"state": [\n      "{state}"'
        )
        raws = (parse_documents(text.encode(), name) for name, text in files.items())
        notes = import_slurm([raw for each in raws for raw in each]).notes
        assert any("by the lowest of their tiers: 1 (804)" in note for note in notes)
        said = "of partitions that are down or inactive are left out: 1 (ml/813)"
        assert any(said in note for note in notes) is out


def test_of_several_topologies_of_a_file_the_default_counts() -> None:
    text = """\
- topology: topo1
  cluster_default: False
  flat: True
- topology: topo2
  cluster_default: True
  block:
    block_sizes: [1]
    blocks:
    - block: b1
      nodes: n1
"""
    raws = [
        *parse_documents(text.encode(), "topology.yaml"),
        *parse_documents(NODE.encode(), "nodes.txt"),
    ]
    (node,) = import_slurm(raws).snapshot.nodes
    assert node.labels["topology.slurm/block"] == "b1"
