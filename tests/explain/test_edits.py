"""Changes to try out, as an operator types them."""

from __future__ import annotations

import pytest

from kantopt.errors import UsageError
from kantopt.planning.explain.edits import edited
from kantopt.planning.question import Question
from kantopt.schema.model import Model
from tests.explain.helpers import asked, explained, model_of
from tests.verify.world import GPU, job, node, pods

QUEUES = [{"name": "q", "resources": [{"name": GPU, "nominalQuota": 2}]}]
QUESTION = asked(
    [node("a", gpu=8, rack="b/0"), node("b", gpu=8, rack="b/1")],
    [
        job("r", pods(count=2, gpu=1, on=["a", "b"]), queueName="q"),
        job("j", pods("x", count=4, gpu=2, topologyRequest={"required": "rack"}), pods("y")),
    ],
    queues=QUEUES,
)


def after(*texts: str) -> tuple[Question, Model]:
    return edited(QUESTION, model_of(QUESTION), texts)


def test_nodes_like_another() -> None:
    nodes = after("add-nodes=b:2")[0].snapshot.nodes
    assert [node.name for node in nodes] == ["a", "b", "b-new-1", "b-new-2"]
    assert nodes[3].labels == nodes[1].labels
    assert [node.name for node in after("add-nodes=b:1", "add-nodes=b:1")[0].snapshot.nodes] == [
        "a",
        "b",
        "b-new-1",
        "b-new-2",
    ]


DAEMON = job("d", pods(count=2, cpu=1, on=["a", "b"]), daemon=True)


def test_nodes_like_another_bear_its_daemons() -> None:
    question = asked([node("a", gpu=8), node("b", gpu=8)], [DAEMON])
    question, _ = edited(question, model_of(question), ("add-nodes=b:2",))
    [podset] = question.snapshot.jobs[0].pod_sets
    assert podset.count == 4
    places = [(place.node, place.count) for place in podset.assignments]
    assert places == [("a", 1), ("b", 1), ("b-new-1", 1), ("b-new-2", 1)]


def test_a_drained_node_keeps_its_daemons() -> None:
    question = asked([node("a", gpu=8), node("b", gpu=8)], [DAEMON])
    question, _ = edited(question, model_of(question), ("drain=a",))
    assert question.snapshot.jobs[0].waiting == 0


def test_a_drained_node_has_no_pods() -> None:
    question, _ = after("drain=a")
    assert question.snapshot.nodes[0].unschedulable
    [running] = question.snapshot.jobs
    assert [place.node for place in running.pod_sets[0].assignments] == ["b"]
    assert not after("drain=a", "uncordon=a")[0].snapshot.nodes[0].unschedulable


@pytest.mark.parametrize("change", ["cordon=a", "drain=a"])
def test_who_is_nominated_to_a_node_that_is_closed_waits_as_any_pending_pod(change: str) -> None:
    """kube-scheduler tries a nominated node by the filters that it tries any node by."""
    cordon = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
    named = [{"node": "a", "pods": [{"name": "p-0"}]}]
    jobs = [
        job("p", pods(gpu=6, nominated=True, assignments=named)),
        job("t", pods(gpu=1, on=["a"], nominated=True, tolerations=[cordon])),
    ]
    question = asked([node("a", gpu=8), node("b", gpu=8)], jobs)
    closed, _ = edited(question, model_of(question), (change,))
    assert [found.waiting for found in closed.jobs] == [1, 0]
    assert [pod.name for pod in closed.jobs[0].pod_sets[0].pods] == ["p-0"]
    assert explained(question, "p").verdict.status == "NOMINATED"
    assert explained(closed, "p").verdict.status == "FITS_NOW"


def test_a_node_that_is_opened_loses_the_taint_that_it_had_for_its_cordon() -> None:
    """Kubernetes adds it to each cordoned node, and takes it off again."""
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    own = {"key": "gpu", "effect": "NoSchedule"}
    shut = node("a", gpu=8, unschedulable=True, taints=[cordon, own])
    question = asked([shut], [job("j", pods(gpu=1))])
    for change in ("uncordon=a", "add-nodes=a:1"):
        nodes = edited(question, model_of(question), (change,))[0].snapshot.nodes
        assert [taint.key for taint in nodes[-1].taints] == ["gpu"]
        assert not nodes[-1].unschedulable


def test_jobs_change() -> None:
    assert after("remove=r")[0].snapshot.jobs == ()
    assert after("remove=default/j")[0].pending == ()
    [job] = after("priority=j:7", "set=j:x:nvidia.com/gpu=1", "set=j:x:required=block")[0].pending
    assert job.priority == 7
    first, second = job.pod_sets
    assert first.requests[GPU] == 1
    assert GPU not in second.requests
    assert first.topology_request is not None
    assert first.topology_request.required == "block"
    [job] = after("set=j:x:required=none", "set=j:x:count=2", "set=j:cpu=500m")[0].pending
    assert job.pod_sets[0].topology_request is not None
    assert job.pod_sets[0].topology_request.required is None
    assert [(podset.count, podset.requests["cpu"]) for podset in job.pod_sets] == [
        (2, "500m"),
        (1, "500m"),
    ]


def test_a_priority_is_a_field_too_and_several_changes_fit_in_one_text() -> None:
    question, _ = after("set=j:priority=7 remove=r", "cordon=a")
    [job] = question.pending
    assert (job.priority, question.snapshot.jobs) == (7, ())
    assert question.snapshot.nodes[0].unschedulable


def test_names_may_have_spaces_in_them() -> None:
    spaced = asked([node("node 1", gpu=8)], [job("my job", pods(gpu=1)), job("b set", pods(gpu=1))])
    text = "set=default/my job:priority=7 set=b set:priority=8 cordon=node 1"
    question, _ = edited(spaced, model_of(spaced), (text,))
    assert [job.priority for job in question.pending] == [7, 8]
    assert question.snapshot.nodes[0].unschedulable


def test_quotas_and_limits_change() -> None:
    question, model = after(f"quota=q:{GPU}=9", "limit=moves:3")
    assert question.snapshot.queues[0].resources[0].nominal_quota == 9
    assert (model.limits.moves, model.limits.evictions) == (3, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("add-node=b:1", "did you mean add-nodes=?"),
        ("remove", "expected one of add-nodes=NODE:COUNT"),
        ("add-nodes=c:1", "expected a node that the input has"),
        ("add-nodes=b:0", "a whole number of at least 1 at its end"),
        ("add-nodes=b", "expected add-nodes=NODE:COUNT"),
        ("drain=aa", "did you mean a?"),
        ("remove=q", "expected a job that the input has"),
        ("priority=j:high", "a whole number at its end"),
        ("set=j=3", "expected set=JOB"),
        ("set=j:z:count=3", "a pod set that the input has"),
        ("set=j:x:nvidia.com/gpu=lots", "a quantity such as"),
        ("set=j:x:required=zone", "none or one of block, rack"),
        ("set=r:main:count=1", "at least as many pods as run"),
        ("set=j:movable=maybe", "true or false"),
        ("set=j:nvidia/gpu=4", "did you mean nvidia.com/gpu?"),
        ("set=j:counts=4", "did you mean count?"),
        ("quota=q:cpu=1", "a resource of the queue"),
        ("limit=nodes:1", "limit=evictions:COUNT"),
    ],
)
def test_a_change_that_cannot_be_made_says_why(text: str, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        after(text)
    assert str(raised.value).startswith(f"--what-if: found {text}, expected ")
    assert words in str(raised.value)
