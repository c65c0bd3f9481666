"""``kantopt verify --against`` once a plan was carried out, in part or whole, as clusters do it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.explain.helpers import documents
from tests.formats.cluster_objects import Object, node, pod, thing
from tests.planning.test_slurm_dumps import HEAD, config, nodes, runs, waits
from tests.verify import world

QUEUE = [
    thing("kueue.x-k8s.io/v1beta1", "LocalQueue", "lq", clusterQueue="cq"),
    thing("kueue.x-k8s.io/v1beta1", "ClusterQueue", "cq", "", resourceGroups=[]),
]


def listed(*objects: Object) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def today(cli: Cli, text: str) -> tuple[int, dict[str, str]]:
    """What is said of each step, done, legal or why it is cut, and the exit code."""
    Path("today").write_text(text)
    done = cli("verify", "--against", "today", "plan.json", "-o", "wide", "-q")
    rows = re.findall(r"^ +\d+ +(\w+) .* (done|legal|cut) +(.*)$", done.out, re.MULTILINE)
    return done.code, {
        step: f"{state} {why.removeprefix('-')}".strip() for step, state, why in rows
    }


def planned(cli: Cli, text: str, *arguments: str) -> Object:
    Path("dump").write_text(text)
    command = arguments or ("plan", "dump", "--engine", "fast")
    assert cli(*command, "-O", "plan.json", "-q").code == 0
    plan: Object = json.loads(Path("plan.json").read_text())
    return plan


def workload(**status: object) -> Object:
    """A Workload of Kueue's for a Job, of two pods with 4 GPUs."""
    asked = {"requests": {"nvidia.com/gpu": "4"}}
    template = {"spec": {"containers": [{"name": "c", "resources": asked}]}}
    found = thing("kueue.x-k8s.io/v1beta1", "Workload", "job-train-1a2b3", queueName="lq")
    found["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "train", "uid": "Job/train"}]
    found["spec"]["podSets"] = [{"name": "main", "count": 2, "template": template}]
    return {**found, "status": status}


def of_train(name: str, on: str) -> Object:
    asked = {"nvidia.com/gpu": "4"}
    return pod(name, on=on, owner="Job/train", requests=asked, restartPolicy="Never")


ADMITTED = {"admission": {"clusterQueue": "cq"}}
FINISHED = {"conditions": [{"type": "Finished", "status": "True"}]}


@pytest.mark.parametrize(
    ("status", "places", "states"),
    [
        (ADMITTED, ("a", "b"), ["done", "done"]),
        (ADMITTED, ("b", ""), ["legal", "done"]),
        (ADMITTED, ("a", ""), ["done", "legal"]),
        (FINISHED, (), ["cut gone: job default/job-train", "cut gone: job default/job-train"]),
    ],
)
@pytest.mark.usefixtures("files")
def test_pods_that_a_controller_made_after_the_plan_are_those_that_it_counts(
    cli: Cli, status: Object, places: tuple[str, ...], states: list[str]
) -> None:
    small = [node(name, **{"nvidia.com/gpu": "4"}) for name in "ab"]
    plan = planned(cli, listed(*small, *QUEUE, workload()))
    assert [item["node"] for item in plan["assignments"]] == ["a", "b"]
    pods = [of_train(f"train-{i}", on) for i, on in enumerate(places)]
    code, said = today(cli, listed(*small, *QUEUE, workload(**status), *pods))
    assert code == (12 if "cut" in states[0] else 0)
    assert all(said[step].startswith(text) for step, text in zip(("b1", "b2"), states, strict=True))


def owned(name: str, kind: str, on: str, *, cpu: str = "2", uid: str = "", **more: str) -> Object:
    owner = f"{kind}/{name.rsplit('-', 1)[0]}"
    found = pod(name, on=on, owner=owner, requests={"cpu": cpu})
    found["metadata"].update({"uid": uid or f"uid-{name}", **more})
    return found


@pytest.mark.parametrize(
    ("kind", "after", "state"),
    [
        ("StatefulSet", owned("db-0", "StatefulSet", "b", uid="two"), "done"),
        ("ReplicaSet", owned("db-x", "ReplicaSet", "b"), "done"),
        ("Job", owned("db-x", "Job", "b"), "done"),
        ("StatefulSet", owned("db-0", "StatefulSet", "a", uid="two"), "cut back: pod db-0 left"),
        ("StatefulSet", owned("db-0", "StatefulSet", "", uid="two"), "cut elsewhere: pod db-0 was"),
        ("ReplicaSet", owned("db-x", "ReplicaSet", ""), "db-x of its owner waits since"),
        ("ReplicaSet", owned("db-x", "ReplicaSet", "a"), "db-x of its owner came to a since"),
        ("StatefulSet", owned("db-0", "StatefulSet", "b"), "done"),
        (
            "StatefulSet",
            owned("db-0", "StatefulSet", "a", deletionTimestamp="2026-09-01T03:00:00Z"),
            "cut leaving: pod db-0 is on its way out",
        ),
        ("StatefulSet", owned("db-0", "Job", "a", uid="two"), "cut replaced: pod db-0 is another"),
    ],
)
@pytest.mark.usefixtures("files")
def test_a_restarted_pod_is_known_by_its_owner(
    cli: Cli, kind: str, after: Object, state: str
) -> None:
    stays = owned("other-0", "ReplicaSet", "b", cpu="5")
    clear = ("defrag", "dump", "--goal", "empty-nodes", "--engine", "fast")
    plan = planned(cli, listed(node("a"), node("b"), owned("db-0", kind, "a"), stays), *clear)
    assert [(move["fromNode"], move["toNode"]) for move in plan["moves"]] == [("a", "b")]
    code, said = today(cli, listed(node("a"), node("b"), after, stays))
    assert state in said["m1"]
    assert code == (0 if state == "done" else 12)


@pytest.mark.usefixtures("files")
def test_a_pod_whose_pod_set_is_numbered_anew_is_the_same(cli: Cli) -> None:
    """Pod sets of an owner whose pods differ are numbered as they are met."""
    first = owned("web-a", "ReplicaSet", "a", cpu="1")
    mine = owned("web-b", "ReplicaSet", "a")
    stays = pod("other", on="b", owner="", requests={"cpu": "5"})
    clear = ("defrag", "dump", "--goal", "empty-nodes", "--engine", "fast")
    plan = planned(cli, listed(node("a"), node("b"), first, mine, stays), *clear)
    names = {item["pods"][0]["name"]: item["id"] for item in plan["moves"]}
    code, said = today(cli, listed(node("a"), node("b"), mine, stays))
    assert (code, said[names["web-b"]]) == (12, "legal")


@pytest.mark.parametrize(
    ("after", "states"),
    [
        (waits("1", at=90) + runs("2", "n1", at=60), {"e1": "done", "b1": "done"}),
        (waits("1", at=90) + waits("2", at=60), {"e1": "done", "b1": "legal"}),
        (runs("1", "n1", at=90) + waits("2", at=60), {"e1": "cut back: task 1 left", "b1": "cut"}),
        (runs("1", "n2", at=90) + runs("2", "n1", at=60), {"e1": "done", "b1": "done"}),
        (waits("1", at=90) + waits("2", at=90), {"b1": "cut replaced: task 2 was queued again"}),
    ],
)
@pytest.mark.usefixtures("files")
def test_a_job_of_slurm_that_was_queued_again_is_the_same_job(
    cli: Cli, after: str, states: dict[str, str]
) -> None:
    def dump(text: str, seconds: int) -> str:
        drained = {f"n{k}": "DRAIN" for k in (2, 3, 4)}
        return nodes(**drained) + HEAD + text.replace(f"JobId=2 {main}", high) + config(seconds)

    main, high = "Account=ml Partition=main", "JobId=2 Account=ml Partition=high"
    plan = planned(cli, dump(runs("1", "n1") + waits("2", at=60), 100))
    assert (len(plan["evictions"]), len(plan["assignments"])) == (1, 1)
    _, said = today(cli, dump(after, 200))
    assert all(said[step].startswith(text) for step, text in states.items()), said


@pytest.mark.usefixtures("files")
def test_nodes_of_a_slurm_job_that_runs_are_those_that_it_was_bound_to(cli: Cli) -> None:
    def dump(text: str, seconds: int) -> str:
        return nodes(n3="DRAIN", n4="DRAIN") + HEAD + text + config(seconds)

    planned(cli, dump(waits("7", 2), 100))
    assert today(cli, dump(runs("7", "n[1-2]", 2), 200)) == (0, {"b1": "done", "b2": "done"})
    code, said = today(cli, dump(runs("7", "n[2-3]", 2), 200))
    assert (code, said["b2"]) == (12, "done")
    assert said["b1"] == "cut gone: task 7:0 is gone; 7:n3 of its job came to n3 since"


@pytest.mark.usefixtures("files")
def test_a_pod_that_waits_and_is_being_deleted_is_not_said_to_be_gone(cli: Cli) -> None:
    planned(cli, listed(node("a"), owned("db-0", "StatefulSet", "")))
    going = owned("db-0", "StatefulSet", "", deletionTimestamp="2026-09-01T03:00:00Z")
    code, said = today(cli, listed(node("a"), going))
    assert (code, said["b1"]) == (12, "cut gone: pod db-0 is being deleted, and left out")


@pytest.mark.usefixtures("files")
def test_pods_whose_gang_lacks_others_are_not_said_to_be_gone(cli: Cli) -> None:
    group = thing("scheduling.x-k8s.io/v1alpha1", "PodGroup", "w", minMember=2)
    mine = {"labels": {"scheduling.x-k8s.io/pod-group": "w"}}
    pods = [pod(f"w-{i}", owner="Job/w", **mine) for i in range(2)]  # type: ignore[arg-type]
    planned(cli, listed(node("a"), group, *pods))
    code, said = today(cli, listed(node("a"), group, pods[0]))
    lacks = "cut gone: pod w-0 lacks pods that must start with it, and is left out"
    assert (code, said["b1"]) == (12, lacks)
    told = cli("explain", "today", "w-0")
    assert "default/w-0 lacks pods that must start with it, and is left out" in told.err


@pytest.mark.parametrize(("place", "states"), [("b", ["done", "done"]), ("", ["done", "legal"])])
def test_pods_of_a_listed_job_are_known_whatever_the_list_calls_its_only_pod_set(
    files: Path, cli: Cli, place: str, states: list[str]
) -> None:
    jobs = (files / "jobs.yaml").read_text().replace("team-a", "default").replace("12", "1")
    (files / "jobs.yaml").write_text(jobs)
    (files / "dump").write_text(listed(node("a"), node("b")))
    asked = ("plan", "dump", "jobs.yaml", "--engine", "fast", "-O", "plan.json", "-q")
    assert cli(*asked).code == 0
    gpus = {"cpu": "1", "nvidia.com/gpu": "8"}
    pods = [
        pod(f"llm-8-{i}", on=on, owner="Job/llm-8", requests=gpus)
        for i, on in enumerate(("a", place))
    ]
    code, said = today(cli, listed(node("a"), node("b"), *pods))
    assert (code, [said["b1"], said["b2"]]) == (0, states)


@pytest.mark.usefixtures("files")
def test_a_drained_node_may_be_gone_once_the_plan_was_carried_out(cli: Cli) -> None:
    moved = owned("db-0", "StatefulSet", "b", uid="two")
    drain = ("drain", "a", "-f", "dump", "--engine", "fast")
    planned(cli, listed(node("a"), node("b"), owned("db-0", "StatefulSet", "a")), *drain)
    assert today(cli, listed(node("b"), moved)) == (0, {"m1": "done"})
    assert cli("verify", "--against", "today", "plan.json", "-O", "rest.json").code == 0
    assert cli("verify", "today", "rest.json").code == 0


LWS = "leaderworkerset.sigs.k8s.io"
WORKERS = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "6"}}}]}}
GROUPS = thing(
    "leaderworkerset.x-k8s.io/v1",
    "LeaderWorkerSet",
    "s",
    leaderWorkerTemplate={"size": 2, "workerTemplate": WORKERS},
)


def group(*places: str, uid: str = "first") -> list[Object]:
    """Leader and worker of a group that is made anew as a whole."""
    owners = ("StatefulSet/s", "StatefulSet/s-0")
    return [
        pod(
            ("s-0", "s-0-1")[i],
            on=on,
            owner=owners[i],
            labels={f"{LWS}/name": "s", f"{LWS}/group-index": "0", f"{LWS}/worker-index": str(i)},
            requests={"cpu": "6"},
            metadata={"uid": f"{uid}-{i}"},
        )
        for i, on in enumerate(places)
    ]


@pytest.mark.parametrize(
    ("after", "code", "states"),
    [
        (group("a", "b"), 0, ("legal", "legal")),
        (group("c", "b", uid="second"), 0, ("done", "done")),
        (group("a", "b", uid="second"), 12, ("cut back", "done")),
        (group("c", "a", uid="second"), 12, ("done", "cut elsewhere")),
    ],
)
@pytest.mark.usefixtures("files")
def test_a_pod_restarts_in_its_place_only_if_it_is_made_anew(
    cli: Cli, after: list[Object], code: int, states: tuple[str, ...]
) -> None:
    before = [node(name) for name in "abc"] + [GROUPS]
    drain = ("drain", "a", "-f", "dump", "--engine", "fast")
    plan = planned(cli, listed(*before, *group("a", "b")), *drain)
    ends = [(move["fromNode"], move["toNode"]) for move in plan["moves"]]
    assert ends == [("a", "c"), ("b", "b")]
    done, said = today(cli, listed(*before, *after))
    assert done == code
    assert all(said[step].startswith(text) for step, text in zip(("m1", "m2"), states, strict=True))


@pytest.mark.usefixtures("files")
def test_a_restart_of_the_last_plan_is_not_done_before_anything_has_happened(cli: Cli) -> None:
    Path("dump").write_text(
        listed(*(node(name) for name in "abc"), GROUPS, pod("new"), *group("a", "b"))
    )
    drain = ("drain", "a", "-f", "dump", "--engine", "fast", "--last-plan", "last.json", "-q")
    assert cli(*drain, "-O", "first.json").code == 0
    assert cli(*drain, "--seed", "5", "-O", "second.json").code == 0
    second = json.loads(Path("second.json").read_text())
    assert not second.get("sinceLastPlan", {}).get("done")


@pytest.mark.parametrize(
    ("after", "state"),
    [
        (group("a", "c"), "cut elsewhere: s-0-1 of its job came to c since"),
        (group("a"), "cut unmade: no pod of default/s-0/main waits: the one meant has no name"),
        (group("a", "b"), "done"),
        (group(""), "legal"),
    ],
)
@pytest.mark.usefixtures("files")
def test_a_pod_that_is_made_once_its_leader_has_started_is_not_gone(
    cli: Cli, after: list[Object], state: str
) -> None:
    before = [node(name) for name in "abc"] + [GROUPS]
    plan = planned(cli, listed(*before, *group("")))
    places = {item["node"]: bool(item.get("pods")) for item in plan["assignments"]}
    assert places == {"a": True, "b": False}
    _, said = today(cli, listed(*before, *after))
    assert said["b2"].startswith(state)


@pytest.mark.parametrize(("places", "state"), [(["a", "b"], "legal"), (["b", "c"], "done")])
@pytest.mark.usefixtures("files")
def test_pods_without_uid_have_restarted_once_others_of_their_job_have_moved(
    cli: Cli, places: list[str], state: str
) -> None:
    def dump(on: list[str]) -> str:
        running = world.job("s", world.pods(count=2, cpu=6, on=on), disruptionMode="all")
        nodes = [world.node(name, cpu=8) for name in "abc"]
        return json.dumps(documents(nodes, [running])[0])

    planned(cli, dump(["a", "b"]), "drain", "a", "-f", "dump", "--engine", "fast")
    assert today(cli, dump(places)) == (0, {"m1": state, "m2": state})
