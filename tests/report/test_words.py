"""Tables of what was read from Slurm: its words, and names left as they are."""

from __future__ import annotations

import pytest

from kantopt.report.blocks import Listing, Paragraph, Table
from kantopt.report.words import OURS, Words, words_about
from kantopt.schema.snapshot import ClusterSnapshot

SLURM = Words("slurm")


@pytest.mark.parametrize(
    ("ours", "slurms"),
    [
        ("6 jobs (20 pods) stay pending.", "6 jobs (20 tasks) stay pending."),
        ("Place 1 pod of 1 job", "Place 1 task of 1 job"),
        ("PODS", "TASKS"),
        ("JOB/PODSET", "JOB/COMPONENT"),
        ("pod sets a, b fit each alone", "components a, b fit each alone"),
        ("unplaced[1005, CPU-only pods]", "unplaced[1005, CPU-only tasks]"),
        ("7 nvidia.com/gpu, 1 cordoned", "7 gres/gpu, 1 drained"),
        ("6 node selector or affinity", "6 partition, constraint or node list"),
        ("Pods wait", "Tasks wait"),
    ],
)
def test_words_of_kubernetes_are_said_as_slurm_says_them(ours: str, slurms: str) -> None:
    assert SLURM.of(ours) == slurms
    assert Words("kubernetes").of(ours) == OURS.of(ours) == ours


@pytest.mark.parametrize(
    "name", ["team/pod", "pod/1", "pod-1", "gpu-pod", "pods.example", "podium", "example.com/pods"]
)
def test_names_in_which_such_a_word_stands_are_left_alone(name: str) -> None:
    assert SLURM.of(f"node {name} would need 2 pods") == (f"node {name} would need 2 tasks")


@pytest.mark.parametrize("name", ["pod", "pods", "tainted", "podset", "node pods", "my pod 7"])
@pytest.mark.parametrize(
    "text",
    [
        "leaf {} holds 2 pods",
        "2 pods of x: on {}, n2",
        "{0}: pods wait",
        "3 pods -> {0}; Pods of {0} go",
        "{}",
    ],
)
def test_a_name_that_is_such_a_word_stays_as_it_is(name: str, text: str) -> None:
    words = words_about("slurm", cluster_with(name))
    said = {"2 pods": "2 tasks", "3 pods": "3 tasks", "Pods": "Tasks"}
    if name != "pods":
        said["pods wait"] = "tasks wait"
    expected = text
    for ours, slurms in said.items():
        expected = expected.replace(ours, slurms)
    assert words.of(text.format(name)) == expected.format(name)


@pytest.mark.parametrize("noun", ["node", "leaf", "switch", "queue", "block", "domain", "level"])
def test_what_is_named_behind_its_noun_stays_where_no_names_are_known(noun: str) -> None:
    assert SLURM.of(f"of {noun} pod: 2 pods") == f"of {noun} pod: 2 tasks"


def cluster_with(name: str) -> ClusterSnapshot:
    """Return a cluster in which a leaf has a name."""
    node = {"name": "n1", "labels": {"topology.slurm/leaf": name}, "allocatable": {"cpu": 1}}
    head = {"apiVersion": "kantopt/v1alpha1", "kind": "ClusterSnapshot"}
    return ClusterSnapshot.model_validate({**head, "nodes": (node,)})


@pytest.mark.parametrize(
    "edit",
    ["uncordon=n7", "taint=n1", "job:nvidia.com/gpu=8", "request=nvidia.com/gpu:4", "pods=2"],
)
def test_what_somebody_is_to_type_is_left_alone(edit: str) -> None:
    assert SLURM.of(f"try --what-if {edit}, then pods fit") == (
        f"try --what-if {edit}, then tasks fit"
    )


def test_all_texts_of_blocks_are_said_so() -> None:
    table = Table("PODS", ("PODS", "WHY"), (("1", "a pod"),), frozenset({0}), ("warn",))
    blocks = [Paragraph("2 pods", "good", 2), table, Listing("BY POD", ("pods wait",))]
    assert SLURM.of_blocks(blocks) == [
        Paragraph("2 tasks", "good", 2),
        Table("TASKS", ("TASKS", "WHY"), (("1", "a task"),), frozenset({0}), ("warn",)),
        Listing("BY TASK", ("tasks wait",)),
    ]
