"""A plan as a POSIX shell script: a table of what is meant, and the text that carries it out.

The text is ``executor.sh``, the same for all plans. All that a plan adds are comments, messages and
rows of words that can be names in Kubernetes, so that nothing of a document can become a command.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files

from kantopt.render.kube.cordons import cordons
from kantopt.render.kube.fates import Fates, controller, is_safe, pods_known
from kantopt.render.kube.gates import OURS, bypassed
from kantopt.render.kube.requests import Request, as_json, patch_of
from kantopt.render.kube.steering import steering_lines
from kantopt.render.shell import comment, one_line, seconds_of, word
from kantopt.render.steps import Actions
from kantopt.schema.answers.actions import in_waves, namespace_of, nodes_of
from kantopt.schema.answers.plan import Binding, Eviction, Move, Plan
from kantopt.schema.hints import listed, plural
from kantopt.schema.jobs import PodRef

_ABOUT = """\
Evicts and pins only what the plan means by uid, wave by wave, and stops at the first
surprise. Run it again to go on. --dry-run=server changes nothing; --help says more."""


def script_of(plan: Plan, fates: Fates, requests: list[Request]) -> str:
    """Write a plan as a script.

    Parameters
    ----------
    plan
        The plan.
    fates
        What becomes of its actions.
    requests
        The same as requests, and notes.
    """
    told = _header(plan, fates, requests)
    rows = list(_rows(plan, fates))
    namespaces = sorted({row[3] for row in rows if row[0] not in ("node", "known")})
    lines = [
        "#!/bin/sh",
        *(comment(line) for line in told),
        *(comment(line) for line in _ABOUT.splitlines()),
        "set -u",
        f"PLAN={word(_mark(plan))}",
        f"CLUSTER={word(plan.metadata.snapshot.cluster_uid)}",
        f"CAPTURED={max(0, seconds_of(plan.metadata.snapshot.captured_at) or 0)}",
        f"NAMESPACES={word(' '.join(namespaces))}",
        f"DRAINED={word(' '.join(_drained(plan, fates)))}",
        "",
        "about() {",
        *(f"  printf '%s\\n' {word(one_line(line))}" for line in told),
        "}",
        "",
        "# kind, wave, action, namespace, pod, uid, node, owner, grace, target, hostname, patch",
        "steps() {",
        "  cat <<'END'",
        *(" ".join(row) for row in rows),
        "END",
        "}",
        "",
        "waves() {",
        "  :",
        *_waves(plan, fates),
        "}",
        "",
        (files("kantopt.render.kube") / "executor.sh").read_text(encoding="utf-8").rstrip(),
        "",
        'main "$@"',
    ]
    return "\n".join(lines) + "\n"


def _rows(plan: Plan, fates: Fates) -> Iterator[tuple[str, ...]]:
    actions = Actions(plan)
    left: dict[str, None] = {}
    targets: dict[str, None] = {}
    owners: dict[str, None] = {}
    for wave, item in actions:
        does = fates[item.id].does
        if does == "advise":
            continue
        source = nodes_of(item)[0]
        for pod in item.pods:
            start = (str(wave), item.id, namespace_of(item.job), pod.name, pod.uid, source)
            grace = pod.grace_period_seconds
            end = (pod.owner_uid or "-", "-" if grace is None else str(grace))
            if isinstance(item, Binding):
                kind = "bind" if does == "do" else "watch"
                patch = as_json(patch_of(actions, item, pod)) if does == "do" else "-"
                yield (kind, *start, *end, "-", actions.hostname(source), patch)
            elif isinstance(item, Eviction):
                yield ("evict", *start, *end, "-", "-", "-")
            else:
                yield ("move", *start, *end, item.to_node, "-", "-")
                owners[pod.owner_uid] = None
        (targets if isinstance(item, Binding) else left)[source] = None
        if isinstance(item, Move):
            targets[item.to_node] = None
    for node in plan.nodes:
        if node.name in left or node.name in targets:
            role = "target" if node.name in targets else "left"
            uid = node.uid if is_safe(node.uid) else "-"
            yield ("node", node.name, uid, node.hostname or "-", role)
    for pod in pods_known(plan):
        if pod.owner_uid in owners and is_safe(pod.uid):
            yield ("known", pod.uid)


def _waves(plan: Plan, fates: Fates) -> Iterator[str]:
    """Write a call for each wave, with the nodes that are cordoned for it."""
    awaited = {before for wave in plan.waves for before in wave.after}
    closings = cordons(plan, fates)
    for wave in plan.waves:
        if any(fates[identity].does != "advise" for identity in wave.actions):
            others = "yes" if wave.id in awaited else "no"
            nodes = " ".join(word(" ".join(names)) for names in closings[wave.id])
            yield f"  run_wave {wave.id} {others} {nodes}"


def _drained(plan: Plan, fates: Fates) -> list[str]:
    """Name the nodes that the plan empties, if the script sends anything for it."""
    does = any(fates.count(kind, "do") for kind in (Eviction, Move))
    return [name for name in plan.model.drain if is_safe(name)] if does else []


def _mark(plan: Plan) -> str:
    """Return what nodes that the script cordons are marked by."""
    identity = plan.metadata.plan_id
    return identity if is_safe(identity) else hashlib.sha256(identity.encode()).hexdigest()


def _header(plan: Plan, fates: Fates, requests: list[Request]) -> list[str]:
    """Return the lines that a script begins with, and prints when it runs."""
    snapshot = plan.metadata.snapshot
    known = snapshot.cluster_uid
    lines = [
        f"Plan {plan.metadata.plan_id} for the snapshot of {snapshot.captured_at or 'no date'}",
        f"Only for the cluster whose namespace kube-system has the uid {known}."
        if known
        else "Does NOT CHECK which cluster this is, only that the nodes it names are those of the "
        "plan: the namespace kube-system, whose uid tells, was not in the input.",
        f"Does {_done(fates)}.",
        *_taken(fates),
    ]
    left = sum(fates.count(kind, "advise", "watch") for kind in (Binding, Eviction, Move))
    watched = fates.count(Binding, "watch")
    if left:
        waits = f"; it waits until {watched} of them are done" if watched else ""
        lines.append(
            f"Leaves {plural(left, 'pod')} to you: it sends nothing for them, for the reason that "
            f"stands with each{waits}."
        )
    notes = (r for r in requests if r["verb"] == "note" and fates[r["action"]].does != "do")
    lines += [f"- wave {r['wave']}, {r['action']}: {r['message']}" for r in notes]
    lines += _gates(plan, fates)
    drained = _drained(plan, fates)
    if drained:
        lines.append(
            f"Cordons first, and leaves cordoned: {listed(sorted(drained), _NODES)}, to be "
            "emptied; open with kubectl uncordon once the maintenance is over."
        )
    closed = {n for c in cordons(plan, fates).values() for n in (*c.meanwhile, *c.longer)}
    closed -= {*drained}
    if closed:
        lines.append(
            "Cordons for a while, and opens again at the end and on failure: "
            f"{listed(sorted(closed), _NODES)}, unless somebody else has cordoned them."
        )
    lines += steering_lines(plan, fates)
    return lines


def _done(fates: Fates) -> str:
    """Count what it does, as far as it does anything."""
    counts = ((Eviction, "eviction"), (Move, "restart"), (Binding, "binding"))
    found = ((fates.count(kind, "do"), word) for kind, word in counts)
    return ", ".join(plural(n, word) for n, word in found if n) or "nothing by itself"


def _gates(plan: Plan, fates: Fates) -> list[str]:
    """Say which gates are removed, above all those of quota systems."""
    removed = {
        gate
        for _, item in in_waves(plan)
        if isinstance(item, Binding) and fates[item.id].does == "do"
        for pod in item.pods
        for gate in pod.scheduling_gates
    }
    lines = []
    for gate in sorted(removed):
        system = bypassed(gate)
        if system:
            lines.append(f"REMOVES the gate {gate}, as named: {system}'s quotas are BYPASSED.")
        else:
            lines.append(f"Removes the gate {gate}{'' if gate == OURS else ', as named'}.")
    return lines


_NODES = 8
"""So many nodes are named."""
_NAMED = 10
"""So many pods are named; more are counted by their jobs."""


def _taken(fates: Fates) -> list[str]:
    """Name the pods that are evicted, and those that are restarted elsewhere."""
    evicted = list(fates.of(Eviction, "do"))
    moved = list(fates.of(Move, "do"))
    return [
        *_listed("Evicts", "", evicted),
        *_listed("Restarts", ", which is an eviction, too", moved),
    ]


def _listed(verb: str, apart: str, items: Sequence[Eviction | Move]) -> Iterator[str]:
    """Name pods, those that are gone for good first; of many count those of each job."""
    pods = [(item, pod) for item in items for pod in item.pods]
    if not pods:
        return
    gone = sum(_is_over(*pair) for pair in pods)
    said = f"; {gone} of them for good" if gone and len(pods) > 1 else ""
    yield f"{verb} {plural(len(pods), 'pod')}{apart}{said}:"
    pods.sort(key=lambda pair: not _is_over(*pair))
    if len(pods) <= _NAMED:
        yield from (
            f"- {namespace_of(item.job)}/{pod.name} {_way(item, pod)}" for item, pod in pods
        )
        return
    jobs = Counter((item.job, _fate(item, pod)) for item, pod in pods)
    for (job, fate), count in list(jobs.items())[:_NAMED]:
        yield f"- {count} of {job}, {fate}"
    rest = list(jobs.values())[_NAMED:]
    if rest:
        yield f"- and {sum(rest)} of {len(rest)} more jobs"


def _way(item: Eviction | Move, pod: PodRef) -> str:
    if isinstance(item, Move):
        return f"from {item.from_node}, planned on {item.to_node}, {_fate(item, pod)}"
    heir = f" for {item.for_job}" if item.for_job else ""
    return f"from {item.node}{heir}, {_fate(item, pod)}"


def _is_over(item: Eviction | Move, pod: PodRef) -> bool:
    """Whether nobody makes a pod anew."""
    return not controller(pod) or (isinstance(item, Eviction) and item.for_good)


def _fate(item: Eviction | Move, pod: PodRef) -> str:
    kind = controller(pod)
    if not kind:
        return "no controller: gone for good"
    return f"of a {kind} that ends: gone for good" if _is_over(item, pod) else f"of a {kind}"
