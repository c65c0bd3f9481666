"""Small clusters beside what the real kube-scheduler says of each pending pod and each node.

Each record holds a dump and, for each of its pending pods and each node, the scheduler's plugins
that refuse the pod there as the dump stands (none: it may go there). Asked of kantopt is the
same, read through the command's own import: does the judge admit one pod there, does the search?
"""

from __future__ import annotations

import copy
import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

from kantopt.errors import BadDataError
from kantopt.planning.question import Import, Question, question_of
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.schema.extends import load_model
from kantopt.schema.model import Model
from kantopt.schema.raw import RawDocument
from kantopt.search.shapes import Ints
from kantopt.search.state import State, rooms
from kantopt.verify.rules import check

FILE = "kube_scheduler/filter.jsonl.gz"
_OFF = {"gang": "off", "quota": "off", "pinned": "off"}
_AGENT_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


@dataclass(frozen=True, slots=True)
class Pair:
    """One pending pod and one node, and who refuses the pod there."""

    dump: str
    pod: str
    node: str
    plugins: tuple[str, ...]
    """Of the scheduler."""
    rules: tuple[str, ...]
    """Of the judge."""
    searched: bool
    """Whether the search would place the pod there."""
    policy: str
    """A policy of ours by which we differ from the scheduler on purpose; mostly none."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One dump: what was compared, and which pods were not, by reason."""

    name: str
    pairs: tuple[Pair, ...]
    left_out: Mapping[str, str]


def records(path: Path) -> Iterator[dict[str, Any]]:
    """Read the records of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def model() -> Model:
    """Return the default model without the rules that look at more than one pod on one node."""
    mixed = load_model("mixed")
    return mixed.model_copy(update={"rules": mixed.rules.model_copy(update=_OFF)})


def question_about(record: Mapping[str, Any]) -> Question:
    """Read a record's dump as the command does, gated pods on where the record has any."""
    how = Import(gated=bool(record["gated"]))
    return question_of([RawDocument(record["name"], 0, record["dump"])], how)


class _Read:
    """A record as kantopt reads it, and what its judge says of a pod on a node."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.question = question_about(record)
        self.instance = self.question.instance(model())
        self.index = _pending(self.question, self.instance)
        self._known: dict[tuple[int, int], tuple[str, ...]] = {}

    def rules(self, pod: str, node: str) -> tuple[str, ...]:
        """Return the rules that refuse a pod on a node."""
        key = self.index[pod], self.instance.node_index[node]
        if key not in self._known:
            self._known[key] = _judged(self.instance, *key)
        return self._known[key]


def compare(record: Mapping[str, Any]) -> Compared:
    """Ask judge and search what the scheduler was asked."""
    read = _Read(record)
    state = State(read.instance)
    reasons = {
        f"{job.namespace}/{pod.name}": ", ".join(podset.not_modelled)
        for job in read.question.jobs
        for podset in job.pod_sets
        if podset.not_modelled
        for pod in podset.pods
    }
    objects = {
        (item["kind"], _name(item)): item
        for item in record["dump"]["items"]
        if item["kind"] in ("Node", "Pod")
    }
    searched: dict[int, Ints] = {}
    pairs, left_out = [], {}
    for pod, verdicts in record["verdicts"].items():
        s = read.index.get(pod)
        if s is None and "nominatedNodeName" in objects["Pod", pod]["status"]:
            left_out[pod] = "nominated"
            continue
        if s is None:
            left_out[pod] = reasons.get(pod, "left out by the import")
            continue
        if s not in searched:
            searched[s] = _searched(state, s)
        for node, plugins in verdicts.items():
            rules = read.rules(pod, node)
            fits = bool(searched[s][read.instance.node_index[node]])
            pair = Pair(record["name"], pod, node, tuple(plugins), rules, fits, "")
            if bool(plugins) != bool(rules):
                policy = _policy(objects["Pod", pod], objects["Node", node]) if rules else ""
                policy = policy or _explained(record, pair) or _not_taken(record, read, pair)
                pair = replace(pair, policy=policy)
            pairs.append(pair)
    return Compared(record["name"], tuple(pairs), left_out)


def _explained(record: Mapping[str, Any], pair: Pair) -> str:
    """Name the policy without whose cause, in a changed record, we say what the scheduler does."""
    for name, rules, change in _CHANGES:
        if rules is not None and pair.rules != rules:
            continue
        changed = {**record, "dump": copy.deepcopy(record["dump"])}
        if not change(changed["dump"], pair):
            continue
        read = _Read(changed)
        if pair.pod in read.index and bool(read.rules(pair.pod, pair.node)) == bool(pair.plugins):
            return name
    return ""


def _not_taken(record: Mapping[str, Any], read: _Read, pair: Pair) -> str:
    """Name the policy by which a pod that is nominated to a node, and waits here, keeps no room."""
    waits = any(
        item["kind"] == "Pod"
        and _name(item) in read.index
        and item["status"].get("nominatedNodeName") == pair.node
        for item in record["dump"]["items"]
    )
    return "nominated pod that its node does not take" if waits and not pair.rules else ""


_Dump = dict[str, Any]


def _none_leaves(dump: _Dump, _: Pair) -> bool:
    """Have no running pod terminate."""
    leaving = [
        item["metadata"]
        for item in dump["items"]
        if item["kind"] == "Pod"
        and item["spec"].get("nodeName")
        and "deletionTimestamp" in item["metadata"]
    ]
    for metadata in leaving:
        del metadata["deletionTimestamp"]
    return bool(leaving)


def _for_many_nodes(dump: _Dump, _: Pair) -> bool:
    """Have each claim that is bound be for many nodes."""
    claims = [
        item["spec"]
        for item in dump["items"]
        if item["kind"] == "PersistentVolumeClaim"
        and item["spec"].get("volumeName")
        and item["spec"].get("accessModes") == ["ReadWriteOnce"]
    ]
    for spec in claims:
        spec["accessModes"] = ["ReadWriteMany"]
    return bool(claims)


def _each_alone(dump: _Dump, _: Pair) -> bool:
    """Hold each volume that is to be made by itself against the room that is told."""
    told = [item for item in dump["items"] if item["kind"] == "CSIStorageCapacity"]
    rooms = [item for item in told if "capacity" in item]
    for item in rooms:
        item.setdefault("maximumVolumeSize", item.pop("capacity"))
    return bool(rooms)


def _nobody_elsewhere(dump: _Dump, pair: Pair) -> bool:
    """Leave out all other pods that are not on the node, and have those on it share no claim."""
    used: set[tuple[str, str]] = set()
    for item in _others(dump, pair, lambda pod: pod["spec"].get("nodeName") == pair.node):
        own = item["spec"].get("volumes", [])
        claims = [volume.get("persistentVolumeClaim", {}).get("claimName", "") for volume in own]
        keys = [(item["metadata"]["namespace"], name) for name in claims]
        item["spec"]["volumes"] = [v for v, key in zip(own, keys, strict=True) if key not in used]
        used.update(key for key in keys if key[1])
    return True


def _none_nominated(dump: _Dump, pair: Pair) -> bool:
    """Leave out all other pods that are nominated."""
    before = len(dump["items"])
    _others(
        dump,
        pair,
        lambda pod: pod["spec"].get("nodeName") or not pod["status"].get("nominatedNodeName"),
    )
    return len(dump["items"]) < before


def _others(dump: _Dump, pair: Pair, stays: Callable[[_Dump], object]) -> list[_Dump]:
    """Leave out other pods that do not stay; return those that do, and the pod itself last."""
    dump["items"] = [
        item
        for item in dump["items"]
        if item["kind"] != "Pod" or _name(item) == pair.pod or stays(item)
    ]
    pods = [item for item in dump["items"] if item["kind"] == "Pod"]
    return sorted(pods, key=lambda item: _name(item) == pair.pod)


_CHANGES: tuple[tuple[str, tuple[str, ...] | None, Callable[[_Dump, Pair], bool]], ...] = (
    ("nobody to be near but pods that terminate", ("affinity",), _none_leaves),
    ("nominated pod that counts as placed", None, _none_nominated),
    ("claim for one node that is in use on another", ("eligibility",), _for_many_nodes),
    ("room for volumes to be made that is for all of them", ("capacity",), _each_alone),
    ("room to attach volumes that is kept for others", ("capacity",), _nobody_elsewhere),
)
"""Policies by which we differ: their names, the rules that refuse by them (any, or none, without),
and how a record is changed so that there is no cause for them."""


def _name(item: Mapping[str, Any]) -> str:
    metadata = item["metadata"]
    return (
        f"{metadata['namespace']}/{metadata['name']}"
        if item["kind"] == "Pod"
        else (metadata["name"])
    )


def _pending(question: Question, instance: Instance) -> dict[str, int]:
    """Pod sets of the pending pods by NAMESPACE/NAME."""
    found = {}
    for job, document in zip(instance.jobs, question.documents(instance), strict=True):
        roles = {role.name: role.pending for role in job.roles}
        for podset in document.pod_sets:
            pending = roles.get(podset.name)
            if pending is not None:
                found.update({f"{document.namespace}/{pod.name}": pending for pod in podset.pods})
    return found


def _searched(state: State, s: int) -> Ints:
    """Room for one pod of a pod set on each node, as the search sees it."""
    room = rooms(state, state.shape[s], 1) * state.allowed(s)
    admitted = state.neighbours.admits(s) if state.neighbours.concern(s) else None
    return room if admitted is None else room * admitted


def _judged(instance: Instance, s: int, n: int) -> tuple[str, ...]:
    """Rules that refuse one more pod of a pod set on a node, whichever devices it takes."""
    fewest: tuple[str, ...] | None = None
    for spot in _spots(instance, s, n):
        violations = check(instance, instance.current.replace({s: {spot: 1}}))
        rules = tuple(sorted({str(v.rule) for v in violations} - {"limits", "required"}))
        if not rules:
            return ()
        fewest = rules if fewest is None else min(fewest, rules, key=len)
    return ("devices",) if fewest is None else fewest


def _spots(instance: Instance, s: int, n: int) -> Iterator[Spot]:
    needs = [
        combinations(instance.nodes[n].devices_of(need.device_class), need.count)
        for need in instance.podsets[s].devices
    ]
    for chosen in product(*needs):
        yield Spot(n, tuple(sorted(device for group in chosen for device in group)))


def _policy(pod: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    """Name the policy that keeps the pod off the node, though the scheduler would place it."""
    tolerations = pod["spec"].get("tolerations", ())
    taints = node["spec"].get("taints", ())
    keys = {taint["key"] for taint in taints}
    conditions = {c["type"]: c["status"] for c in node["status"].get("conditions", ())}
    if conditions.get("Ready", "True") != "True" and keys.isdisjoint(_AGENT_TAINTS):
        return "node not ready, and no taint says so"
    for taint in taints:
        if taint["effect"] == "NoExecute" and all(
            "tolerationSeconds" in item for item in tolerations if _covers(item, taint)
        ):
            return "NoExecute taint tolerated for a time only"
    return ""


def _covers(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect", "") not in ("", taint["effect"]):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return toleration.get("key", "") in ("", taint["key"])
    return toleration.get("key") == taint["key"] and toleration.get("value", "") == taint.get(
        "value", ""
    )


@dataclass(slots=True)
class Tally:
    """What all dumps come to."""

    dumps: int = 0
    pairs: int = 0
    both_allow: int = 0
    both_refuse: int = 0
    on_purpose: Counter[str] = field(default_factory=Counter)
    """Pairs that we refuse by a policy of ours, by policy."""
    allowed_on_purpose: Counter[str] = field(default_factory=Counter)
    """Pairs that we allow by a policy of ours."""
    allowed_wrongly: Counter[str] = field(default_factory=Counter)
    """By the scheduler's plugins, one count for each of them."""
    refused_wrongly: Counter[str] = field(default_factory=Counter)
    """By our rules."""
    search_differs: int = 0
    """Pairs of which the search does not say what the judge says."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Pods, by reason."""
    unreadable: Counter[str] = field(default_factory=Counter)
    """Dumps that the import refuses, by name."""
    first: dict[str, str] = field(default_factory=dict)
    """A witness of each cause."""

    def add(self, compared: Compared) -> None:
        """Count one dump."""
        self.dumps += 1
        self.left_out.update(compared.left_out.values())
        for pair in compared.pairs:
            self.pairs += 1
            witness = f"{pair.dump} {pair.pod} {pair.node}"
            if bool(pair.plugins) == bool(pair.rules):
                self.both_refuse += bool(pair.rules)
                self.both_allow += not pair.rules
            elif pair.policy:
                ours = self.on_purpose if pair.rules else self.allowed_on_purpose
                ours[pair.policy] += 1
            else:
                wrong = self.refused_wrongly if pair.rules else self.allowed_wrongly
                for cause in pair.rules or pair.plugins:
                    wrong[cause] += 1
                    self.first.setdefault(cause, witness)
            if pair.searched == bool(pair.rules):
                self.search_differs += 1
                self.first.setdefault("search", witness)


def tally(path: Path) -> Tally:
    """Compare all dumps of a file."""
    total = Tally()
    for record in records(path):
        try:
            total.add(compare(record))
        except BadDataError:
            total.unreadable[record["name"]] += 1
    return total
