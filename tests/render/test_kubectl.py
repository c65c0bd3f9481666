"""Plans as requests to the Kubernetes API and as a script that a shell accepts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from kantopt.render.kubectl import render_json_lines, render_kubectl, render_shell
from kantopt.schema.base import API_VERSION
from kantopt.schema.jobs import Job, PodRef, PodSet
from kantopt.schema.model import Model
from kantopt.schema.plan import (
    Binding,
    Eviction,
    Move,
    Plan,
    PlanMetadata,
    SnapshotRef,
    Solver,
    Summary,
    Wave,
)

VICTIM = PodRef(name="x-0", uid="8c5c", resource_version="812", grace_period_seconds=30)
GATED = PodRef(name="w-0", uid="77aa", scheduling_gates=("example.org/kantopt",))


def plan(
    *,
    assignments: tuple[Binding, ...] = (),
    evictions: tuple[Eviction, ...] = (),
    moves: tuple[Move, ...] = (),
    selector: dict[str, str] | None = None,
) -> Plan:
    """A plan that evicts in its first wave and does the rest in its second."""
    first = tuple(item.id for item in evictions)
    second = (*(item.id for item in assignments), *(item.id for item in moves))
    waves = [Wave(id=1, actions=first)] if first else []
    if second:
        after = (1,) if first else ()
        waves.append(Wave(id=2, after=after, actions=second))
    return Plan(
        api_version=API_VERSION,
        kind="Plan",
        metadata=PlanMetadata(
            plan_id="sha256:0", kantopt_version="0", snapshot=SnapshotRef(digest="sha256:1")
        ),
        summary=Summary(
            placed_jobs=0,
            placed_pods=0,
            unplaced_jobs=0,
            unplaced_pods=0,
            evicted_pods=0,
            moved_pods=0,
            changes=True,
        ),
        solver=Solver(
            engine="fast",
            strategy="best-fit",
            found_by="fast",
            status="FEASIBLE",
            seed=0,
            deterministic=False,
            reproducible=True,
        ),
        assignments=assignments,
        evictions=evictions,
        moves=moves,
        waves=tuple(waves),
        model=Model(api_version=API_VERSION, kind="Model"),
        jobs=(
            Job(
                name="w",
                namespace="team-a",
                pod_sets=(PodSet(count=1, node_selector=selector or {}),),
            ),
        ),
    )


def evict(*pods: PodRef, count: int = 1) -> Eviction:
    return Eviction(
        id="e1", job="team-b/x", pod_set="main", node="n1", count=count, pods=pods, priority=0
    )


def bind(*pods: PodRef) -> Binding:
    return Binding(id="b1", job="team-a/w", pod_set="main", node="n1", count=1, pods=pods)


def move(mode: str) -> Move:
    return Move(
        id="m1",
        job="team-b/x",
        pod_set="main",
        from_node="n1",
        to_node="n2",
        count=1,
        pods=(VICTIM,),
        mode=mode,  # type: ignore[arg-type]
    )


EVICTION = {
    "apiVersion": "policy/v1",
    "kind": "Eviction",
    "metadata": {"name": "x-0", "namespace": "team-b"},
    "deleteOptions": {
        "gracePeriodSeconds": 30,
        "preconditions": {"uid": "8c5c", "resourceVersion": "812"},
    },
}


def test_an_eviction_holds_only_for_the_very_pod_that_was_planned_for() -> None:
    (request,) = render_kubectl(plan(evictions=(evict(VICTIM),)))
    assert (request["wave"], request["action"], request["verb"]) == (1, "e1", "create")
    assert request["path"] == "/api/v1/namespaces/team-b/pods/x-0/eviction"
    assert request["body"] == EVICTION


def test_what_a_pod_does_not_say_is_not_made_up() -> None:
    (request,) = render_kubectl(plan(evictions=(evict(PodRef(name="x-0")),)))
    assert "deleteOptions" not in request["body"]


def test_a_gated_pod_is_tested_pinned_and_let_go_in_this_order() -> None:
    (request,) = render_kubectl(plan(assignments=(bind(GATED),)))
    assert (request["verb"], request["path"]) == ("patch", "/api/v1/namespaces/team-a/pods/w-0")
    assert request["body"] == [
        {"op": "test", "path": "/metadata/uid", "value": "77aa"},
        {"op": "add", "path": "/spec/nodeSelector", "value": {"kubernetes.io/hostname": "n1"}},
        {"op": "test", "path": "/spec/schedulingGates/0/name", "value": "example.org/kantopt"},
        {"op": "remove", "path": "/spec/schedulingGates/0"},
    ]


def test_a_node_selector_that_is_there_is_added_to_not_replaced() -> None:
    (request,) = render_kubectl(plan(assignments=(bind(GATED),), selector={"pool": "gpu"}))
    assert request["body"][1] == {
        "op": "add",
        "path": "/spec/nodeSelector/kubernetes.io~1hostname",
        "value": "n1",
    }


def test_of_several_gates_only_the_named_one_is_removed() -> None:
    pod = PodRef(name="w-0", scheduling_gates=("kueue.x-k8s.io/topology", "mine"))
    patch, note = render_kubectl(plan(assignments=(bind(pod),)))
    assert [step["op"] for step in patch["body"]] == ["add"]
    assert "kueue.x-k8s.io/topology, mine" in note["message"]
    (named,) = render_kubectl(plan(assignments=(bind(pod),)), gate="mine")
    assert named["body"][1:] == [
        {"op": "test", "path": "/spec/schedulingGates/1/name", "value": "mine"},
        {"op": "remove", "path": "/spec/schedulingGates/1"},
    ]


def test_a_pod_without_gate_cannot_be_pinned_and_a_note_says_what_can() -> None:
    (request,) = render_kubectl(plan(assignments=(bind(PodRef(name="w-0")),)))
    assert request["verb"] == "note"
    assert "without a scheduling gate" in request["message"]
    assert '"values": ["n1"]' in request["message"]


def test_a_restart_evicts_and_says_where_the_new_pod_belongs() -> None:
    eviction, note = render_kubectl(plan(moves=(move("restart"),)))
    assert eviction["body"] == EVICTION
    assert "should start on n2" in note["message"]


def test_a_live_move_is_nobodys_eviction() -> None:
    (note,) = render_kubectl(plan(moves=(move("live"),)))
    assert note["verb"] == "note"
    assert "from n1 to n2" in note["message"]


def test_pods_that_the_plan_only_counts_are_said_to_be_nameless() -> None:
    requests = render_kubectl(plan(evictions=(evict(VICTIM, count=3),)))
    assert [item["verb"] for item in requests] == ["create", "note"]
    assert requests[1]["message"].startswith("2 pods of team-b/x")


def test_json_lines_are_the_requests_one_a_line() -> None:
    made = plan(evictions=(evict(VICTIM),), assignments=(bind(GATED),))
    lines = [json.loads(line) for line in render_json_lines(made).splitlines()]
    assert lines == render_kubectl(made)


def test_the_script_waits_between_waves_and_a_shell_runs_it(tmp_path: Path) -> None:
    script = render_shell(plan(evictions=(evict(VICTIM),), assignments=(bind(GATED),)))
    calls = tmp_path / "calls"
    fake = tmp_path / "kubectl"
    fake.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$*" >> {calls}\n[ "$1" = create ] && cat >> {calls}\ntrue\n'
    )
    fake.chmod(0o755)
    subprocess.run(["/bin/sh", "-c", script], check=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    create, body, wait, patch = calls.read_text().splitlines()
    assert create == "create --raw /api/v1/namespaces/team-b/pods/x-0/eviction -f -"
    assert json.loads(body) == EVICTION
    assert wait == "wait --for=delete --namespace=team-b pod/x-0 --timeout=300s"
    assert patch.startswith("patch --namespace=team-a pod/w-0 --type=json -p [")


def test_no_name_can_break_out_of_the_script(tmp_path: Path) -> None:
    evil = "a'; touch pwned #\n touch pwned\nEOF\ntouch pwned"
    made = plan(
        evictions=(
            evict(PodRef(name=evil, uid=evil), count=2).model_copy(update={"job": f"{evil}/x"}),
        ),
        assignments=(bind(PodRef(name=evil), PodRef(name=evil, scheduling_gates=(evil,))),),
    )
    fake = tmp_path / "kubectl"
    fake.write_text("#!/bin/sh\ncat > /dev/null\n")
    fake.chmod(0o755)
    subprocess.run(
        ["/bin/sh", "-c", render_shell(made)],
        check=True,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
    )
    assert sorted(item.name for item in tmp_path.iterdir()) == ["kubectl"]


def test_a_script_holds_no_control_character_and_names_mean_what_they_are(tmp_path: Path) -> None:
    evil = "a'\x1b[2J\x9b\\0"
    made = plan(evictions=(evict(PodRef(name=evil)),), assignments=(bind(GATED),))
    script = render_shell(made)
    assert script.replace("\n", "").isprintable()
    fake = tmp_path / "kubectl"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >> asked\n')
    fake.chmod(0o755)
    subprocess.run(
        ["/bin/sh", "-c", script],
        check=True,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
    )
    assert f"pod/{evil}" in (tmp_path / "asked").read_text().splitlines()


def test_a_single_nameless_pod_is_one_pod() -> None:
    requests = render_kubectl(plan(evictions=(evict(VICTIM, count=2),)))
    assert requests[1]["message"].startswith("1 pod of team-b/x")


def test_the_script_waits_for_those_waves_only_that_are_named() -> None:
    other = evict(VICTIM.model_copy(update={"name": "y-0"})).model_copy(update={"id": "e2"})
    made = plan(evictions=(evict(VICTIM),), assignments=(bind(GATED),))
    first, second = made.waves
    waves = (
        first,
        Wave(id=2, actions=("e2",)),
        second.model_copy(update={"id": 3, "after": (first.id,)}),
    )
    made = made.model_copy(update={"evictions": (*made.evictions, other), "waves": waves})
    lines = render_shell(made).splitlines()
    calls = [line.split(" --")[0] for line in lines if line.startswith("kubectl")]
    assert [call.split()[1] for call in calls] == ["create", "create", "wait", "patch"]
    waits = [line for line in lines if line.startswith("kubectl wait")]
    assert len(waits) == 1
    assert "pod/x-0" in waits[0]
