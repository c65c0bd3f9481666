"""One trial of each renderer: what comes out, read as those read it who it is for.

A trial returns what is wrong: something ran that no plan asked for, or a name is not what it was.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml

from kantopt.errors import BadDataError
from kantopt.render.shell import one_line
from kantopt.render.slurm import SLURM_SCRIPT
from kantopt.render.targets import TARGETS, Asked, TargetName
from kantopt.schema.answers.actions import namespace_of
from kantopt.schema.answers.plan import Eviction, Move, Plan
from kantopt.schema.dump import dump_data, dump_json, dump_yaml
from kantopt.schema.json_text import parse_json
from kantopt.schema.raw import RawDocument
from kantopt.schema.validation import validate
from kantopt.schema.yaml.text import parse_yaml
from tests.render.expanded import expanded
from tests.render.hostile import harmless, hostile_plan, unprintable, without_nul
from tests.render.markup_trials import page, picture
from tests.render.plans import draw_plan
from tests.render.shell_stubs import Shell

Trial = Callable[[int, Path], list[str]]
"""Seed and an empty folder, to what is wrong."""

_OURS = re.compile(r"kantopt-[0-9a-f]{16}")
_SENT = re.compile(r"[A-Za-z0-9._:/~-]+")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def strings(data: Any) -> Iterator[str]:
    """Yield all strings in plain data, keys included."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield key
            yield from strings(value)
    elif isinstance(data, list):
        for value in data:
            yield from strings(value)


def plan_documents(seed: int, folder: Path) -> list[str]:
    """A plan as JSON and YAML is the same plan when it is read."""
    plan = hostile_plan(seed)
    data, faults = dump_data(plan), []
    for form, text, read in (
        ("JSON", dump_json(plan), parse_json),
        ("YAML", dump_yaml(plan), parse_yaml),
    ):
        (found,) = read(text, "plan")
        if found != data or validate(RawDocument("plan", 0, found), Plan) != plan:
            faults.append(f"{form} is not what was written")
    if json.loads(dump_json(plan)) != data:
        faults.append("JSON is another thing to others")
    return faults


def kubectl_requests(seed: int, folder: Path) -> list[str]:
    """Requests name pods as the plan does, one on a line, and only such as there can be."""
    plan = hostile_plan(seed)
    text = TARGETS["kubectl"].render(plan, Asked(evict_anyway=True)).text
    found = [json.loads(line) for line in text.split("\n") if line]
    faults = unprintable(text)
    evicted = Counter(_pod(item["body"]) for item in found if item["verb"] == "create")
    if not evicted <= _evicted(plan):
        faults.append("other pods are evicted")
    patched = [item for item in found if item["verb"] == "patch"]
    if not Counter(tuple(item["path"].split("/")[4:7:2]) for item in patched) <= _gated(plan):
        faults.append("other pods are patched")
    sent = [[item["path"], item["body"]] for item in found if item["verb"] != "note"]
    faults += [f"not a name: {s!r}" for s in strings(sent) if not _SENT.fullmatch(s)]
    return faults


def kubectl_script(seed: int, folder: Path) -> list[str]:
    """A script runs kubectl and text tools alone; where it would act it finds no cluster."""
    plan = hostile_plan(seed, without_nul)
    script = TARGETS["kubectl"].render(plan, Asked(shell=True, evict_anyway=True)).text
    shell = Shell(folder, real=("awk", "cat", "cut", "date", "sleep"))
    expected = ("the script ends with 3", "the shell says b'REFUSED", "the shell says b'node ")
    faults = [f for f in shell.run(f"KANTOPT_MAX_AGE=0\n{script}") if not f.startswith(expected)]
    words = {call.words[2] for call in shell.calls() if call.words[0] == "kubectl"}
    if not words <= {"config", "get"}:
        faults.append(f"kubectl was asked for {sorted(words)}")
    return faults + unprintable(script)


def slurm_script(seed: int, folder: Path) -> list[str]:
    """A script is ours but for a few words before it, and these are ids, nodes and text."""
    rng = random.Random(f"slurm {seed}")
    plan = hostile_plan(seed, without_nul)
    if rng.random() < 0.6:
        jobs = [job.model_copy(update={"uid": f"{rng.randint(1, 99)}@9"}) for job in plan.jobs]
        plan = plan.model_copy(update={"jobs": tuple(jobs)})
    if rng.random() < 0.7:
        plan = _on_real_nodes(plan)
    try:
        script = TARGETS["slurm"].render(plan, Asked(evict_anyway=True)).text
    except BadDataError as error:
        return [] if "the name of a Slurm node" in str(error) else [str(error)]
    head, _, body = script.partition("\nusage=")
    faults = unprintable(script)
    if f"usage={body}" != SLURM_SCRIPT.read_text(encoding="utf-8"):
        faults.append("a name has got into the script")
    shell = Shell(folder)
    names = ("what", "plan_id", "reservation", "cluster", "taken", "jobs", "steps", "plan")
    words = " ".join(f'"${name}"' for name in names)
    faults += shell.run(f"{head}\nscontrol {words}\n")
    for call in shell.calls():
        told = dict(zip(names, call.words[1:], strict=True))
        if told["cluster"] != one_line(plan.metadata.snapshot.name):
            faults.append("another cluster")
        for name, form in _SLURM_WORDS.items():
            if not re.fullmatch(form, told[name], re.ASCII):
                faults.append(f"odd {name}: {told[name]!r}")
    return faults


_SLURM_WORDS = {
    "plan_id": "[0-9a-f]{1,12}|plan",
    "taken": r"\d*",
    "jobs": r"[\d,_]*",
    "steps": r"[\d ]*",
    "plan": r"(\d+ (evict|leave|return|start) [\d_]+ \d+ \d+ [\w.,\[\]-]+(\n(?=.)|))*",
}


def _on_real_nodes(plan: Plan) -> Plan:
    """Give nodes names that Slurm would take."""
    found = {node: f"n{k}" for k, node in enumerate(sorted(_nodes(plan)))}
    return plan.model_copy(
        update={
            "assignments": tuple(
                item.model_copy(update={"node": found[item.node]}) for item in plan.assignments
            ),
            "evictions": tuple(
                item.model_copy(update={"node": found[item.node]}) for item in plan.evictions
            ),
            "moves": tuple(
                item.model_copy(
                    update={"from_node": found[item.from_node], "to_node": found[item.to_node]}
                )
                for item in plan.moves
            ),
        }
    )


def _nodes(plan: Plan) -> set[str]:
    found = {item.node for item in (*plan.assignments, *plan.evictions)}
    return found | {node for item in plan.moves for node in (item.from_node, item.to_node)}


def manifests(name: TargetName, asked: Asked, seed: int, folder: Path) -> list[str]:
    """Documents hold strings of the plan and of the renderer, whole, and no others."""
    plan = hostile_plan(seed)
    text = TARGETS[name].render(plan, asked).text
    faults = unprintable(text)
    found = [item for item in yaml.load_all(text, yaml.CSafeLoader) if item is not None]
    if [item for item in parse_yaml(text, "file") if item is not None] != found:
        faults.append("two readers of YAML disagree")
    if text.count("\n---\n") != len(found):
        faults.append("a name has made a document")
    known = {*strings(dump_data(plan)), *_constants(name, asked)}
    known |= {f"plan {plan.metadata.plan_id}", *_split(plan)}
    known |= {str(wave.id) for wave in plan.waves}
    for document in found:
        for string in strings(_expanded(document)):
            if string in known or _OURS.fullmatch(string) or _MOMENT.fullmatch(string):
                continue
            if string.startswith('{"reservationSelector": ') and json.loads(string):
                continue
            faults.append(f"a string of nobody: {string!r}")
    return faults + _missing(name, plan, found)


def _expanded(document: dict[str, Any]) -> dict[str, Any]:
    """Write the nodes of an admission out, of which a document holds what they share once."""
    for item in document.get("status", {}).get("admission", {}).get("podSetAssignments", ()):
        item["topologyAssignment"] = expanded(item["topologyAssignment"])
    return document


def _missing(name: str, plan: Plan, found: list[dict[str, Any]]) -> list[str]:
    """Compare the pods that documents name with those of the plan."""
    if name == "koordinator":
        jobs = [item["spec"] for item in found if item["kind"] == "PodMigrationJob"]
        direct = [item for item in jobs if item["mode"] == "EvictDirectly"]
        named = Counter((i["podRef"]["namespace"], i["podRef"]["name"]) for i in direct)
        wanted = Counter(
            (namespace_of(item.job), pod.name) for item in plan.evictions for pod in item.pods
        )
    elif name == "eviction-requests":
        asked = [(i["metadata"]["namespace"], i["spec"]["target"]["pod"]) for i in found]
        named = Counter((namespace, pod["name"]) for namespace, pod in asked)
        wanted = Counter(_with_uid(plan))
    elif name == "volcano":
        named = Counter(_pod(item) for item in found if item["kind"] == "Pod")
        wanted = _gated(plan, {node.name for node in plan.nodes if not node.hostname})
    else:
        return []
    return [] if named == wanted else ["other pods than those of the plan"]


YAML_TARGETS: dict[str, tuple[TargetName, Asked]] = {
    "eviction-requests": ("eviction-requests", Asked(evict_anyway=True)),
    "koordinator": ("koordinator", Asked(evict_anyway=True)),
    "kueue": ("kueue", Asked(evict_anyway=True)),
    "kueue --admission": ("kueue", Asked(evict_anyway=True, admission=True, flavor="f")),
    "volcano": ("volcano", Asked(evict_anyway=True)),
}
TRIALS: dict[str, Trial] = {
    "plan": plan_documents,
    "kubectl": kubectl_requests,
    "kubectl --shell": kubectl_script,
    "slurm": slurm_script,
    **{name: partial(manifests, *how) for name, how in YAML_TARGETS.items()},
    "svg": picture,
    "html": page,
}


def _pod(body: Any) -> tuple[str, str]:
    return body["metadata"]["namespace"], body["metadata"]["name"]


def _evicted(plan: Plan) -> Counter[tuple[str, ...]]:
    """Pods that leave by an eviction: victims, and those that start again elsewhere."""
    restarts = (item for item in plan.moves if item.mode == "restart")
    leaving: Iterable[Eviction | Move] = (*plan.evictions, *restarts)
    return Counter((namespace_of(item.job), pod.name) for item in leaving for pod in item.pods)


def _with_uid(plan: Plan) -> set[tuple[str, ...]]:
    """Pods that leave by an eviction and are known by uid, each once."""
    restarts = (item for item in plan.moves if item.mode == "restart")
    leaving: Iterable[Eviction | Move] = (*plan.evictions, *restarts)
    return {(namespace_of(item.job), pod.name) for item in leaving for pod in item.pods if pod.uid}


def _gated(plan: Plan, bare: Container[str] = ()) -> Counter[tuple[str, ...]]:
    """Pods that a gate holds back, but for those that go to nodes without a hostname label."""
    return Counter(
        (namespace_of(item.job), pod.name)
        for item in plan.assignments
        if item.node not in bare
        for pod in item.pods
        if pod.scheduling_gates
    )


def _split(plan: Plan) -> Iterator[str]:
    """Namespaces, of which actions name jobs with."""
    for item in (*plan.assignments, *plan.evictions, *plan.moves):
        yield namespace_of(item.job)


@cache
def _constants(name: TargetName, asked: Asked) -> frozenset[str]:
    """Strings that a renderer writes whatever the plan: seen where plans hold no such words."""
    seen: set[str] = set()
    for seed in range(300):
        rng = random.Random(f"harmless {seed}")
        plan = draw_plan(rng, harmless(rng))
        for document in yaml.load_all(TARGETS[name].render(plan, asked).text, yaml.CSafeLoader):
            seen |= {string for string in strings(document) if "zz" not in string}
    return frozenset(seen)
