"""What a gang demands: PodGroups of four API groups, Kueue's Workloads, annotations of pods.

``PodGroup`` is four different kinds; only the API group tells them apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kantopt.formats.kubernetes.demands import Gang, Wish, read_wish
from kantopt.formats.kubernetes.gangs import Dialect, GangRef
from kantopt.formats.kubernetes.kueue.workloads import Slices, by_role
from kantopt.formats.kubernetes.nodes import bounded
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import POLICIES, Pod
from kantopt.formats.kubernetes.topology import label_keys
from kantopt.formats.notes import Notes
from kantopt.formats.view import View, json_of
from kantopt.schema.quantity import whole_number
from kantopt.schema.snapshot import HOSTNAME

_WITHOUT_GROUPS = (Dialect.KUEUE, Dialect.KOORDINATOR, Dialect.WORKLOAD, Dialect.YUNIKORN)
_APART = "pod sets that podSetGroupName puts together are close each by itself"


class PodGroups:
    """Demands by gang."""

    def __init__(self, objects: Objects, notes: Notes) -> None:
        self._notes = notes
        self._groups = {
            dialect: objects.by_name(dialect.value, "PodGroup")
            for dialect in Dialect
            if dialect not in _WITHOUT_GROUPS
        }
        # Older plug-ins write their groups in the group of the label that names them.
        for key, view in objects.by_name("scheduling.sigs.k8s.io", "PodGroup").items():
            self._groups[Dialect.PLUGINS].setdefault(key, view)
        self._workloads = objects.by_name(Dialect.KUEUE, "Workload")
        self._slices = Slices(objects)
        self._volcano_jobs = objects.by_name("batch.volcano.sh", "Job")
        self._native_workloads = objects.by_name(Dialect.NATIVE, "Workload")

    def demands(self, ref: GangRef, pods: Sequence[Pod]) -> Gang:
        """Return what a gang of these pods demands; without its object, that all start."""
        self._note_parts(ref, pods)
        if ref.dialect is Dialect.KOORDINATOR:
            least = _number(pods, f"{Dialect.KOORDINATOR}/min-available")
            return replace(Gang(min_count=least), **self._gathered(ref, pods))
        if ref.dialect is Dialect.YUNIKORN:
            return self._task_groups(ref, pods)
        if ref.dialect is Dialect.KUEUE:
            return self._kueue(ref, pods)
        if ref.dialect is Dialect.WORKLOAD:
            return self._workload(ref, pods[0])
        view = self._group_of(ref)
        job = self._volcano_jobs.get((ref.namespace, ref.name))
        if view is None and ref.dialect is Dialect.VOLCANO and job is not None:
            return _volcano_job(job.at("spec"))
        if view is None:
            text = "gangs whose PodGroup is not in the input start all or nothing"
            self._notes.add(text, f"{ref.namespace}/{ref.name}")
            return Gang()
        read = {
            Dialect.NATIVE: _native,
            Dialect.KAI: _kai,
            Dialect.VOLCANO: _volcano,
            Dialect.PLUGINS: _plugins,
        }[ref.dialect]
        found = read(view.at("spec"))
        more = self._gathered(ref, pods) if ref.dialect is Dialect.PLUGINS else {}
        return replace(found, **more)

    def _group_of(self, ref: GangRef) -> View | None:
        groups = next((found for key, found in self._groups.items() if key == ref.dialect), {})
        return groups.get((ref.namespace, ref.name))

    def _annotations(self, ref: GangRef, pods: Sequence[Pod]) -> list[dict[str, str]]:
        """Return the annotations of a gang's object and of its pods."""
        view = self._group_of(ref)
        words = {} if view is None else view.annotations
        return [words, *(pod.annotations for pod in pods)]

    def _gathered(self, ref: GangRef, pods: Sequence[Pod]) -> dict[str, Any]:
        """Read which layers of Koordinator's network hold a gang; of those preferred, the first."""
        key = f"{Dialect.KOORDINATOR}/network-topology-spec"
        texts = (words.get(key, "") for words in self._annotations(ref, pods))
        text = next(filter(None, texts), "")
        found: dict[str, list[str]] = {"MustGather": [], "PreferGather": []}
        for item in _listed(text, "gatherStrategy"):
            told = item if isinstance(item, dict) else {}
            layer = str(told.get("layer", ""))
            of_nodes = layer == "NodeTopologyLayer"
            found.get(str(told.get("strategy")), []).append(HOSTNAME if of_nodes else layer)
        must, prefer = found.values()
        if text and not (must or prefer):
            note = "gangs whose network-topology-spec says nothing that is known may be anywhere"
            self._notes.add(note, f"{ref.namespace}/{ref.name}")
        return {"within": tuple(must), "wish": {"preferred": prefer[0]} if prefer else {}}

    def _note_parts(self, ref: GangRef, pods: Sequence[Pod]) -> None:
        """Say what is not read of gangs that are made of others."""
        view = self._group_of(ref)
        told = self._annotations(ref, pods)
        full_name = f"{ref.namespace}/{ref.name}"
        if any(len(_listed(each.get(f"{Dialect.KOORDINATOR}/groups", ""))) > 1 for each in told):
            self._notes.add("gangs of groups of gangs start each by itself here", full_name)
        spec = None if view is None else view.at("spec")
        job = self._volcano_jobs.get((ref.namespace, ref.name))
        tasks = () if job is None else job.at("spec").list("tasks")
        if ref.dialect is Dialect.VOLCANO and (
            any("partitionPolicy" in task for task in tasks)
            or (spec is not None and "subGroupPolicy" in spec)
        ):
            text = "subgroups of gangs (subGroupPolicy, partitionPolicy) are not read"
            self._notes.add(f"{text}: neither their closeness nor their minima", full_name)
        if spec is not None and ref.dialect is Dialect.KAI:
            found = [spec, *spec.list("subGroups")]
            if any("parent" in each or "minSubGroup" in each for each in found):
                text = "subgroups of subgroups (parent, minSubGroup) are not read"
                self._notes.add(f"{text}: all start, each as close as itself asks for", full_name)

    def _workload(self, ref: GangRef, pod: Pod) -> Gang:
        """Each replica of a pod group is a gang of its own, unless its policy is ``basic``."""
        own = pod.workload
        view = None if own is None else self._native_workloads.get((ref.namespace, own.name))
        if own is None or view is None:
            text = "gangs whose Workload is not in the input start all or nothing"
            self._notes.add(text, f"{ref.namespace}/{ref.name}")
            return Gang()
        for group in view.at("spec").list("podGroups"):
            policy = group.at("policy")
            if group.text("name") == own.group and "gang" in policy:
                return Gang(min_count=bounded(policy.at("gang").integer("minCount", 0) or 1))
        return Gang(min_count=0)

    def _task_groups(self, ref: GangRef, pods: Sequence[Pod]) -> Gang:
        """Of each task group of an application as many pods start together as it names."""
        minima = {
            str(group.get("name", "")): bounded(least)
            for pod in pods
            for group in _listed(pod.annotations.get(f"{Dialect.YUNIKORN}/task-groups", ""))
            if isinstance(group, dict) and isinstance(least := group.get("minMember"), int)
        }
        style = f"{Dialect.YUNIKORN}/schedulingPolicyParameters"
        hard = any("gangSchedulingStyle=Hard" in pod.annotations.get(style, "") for pod in pods)
        if not (hard or all(pod.node for pod in pods)):
            text = "gangs that YuniKorn starts in part once it has waited for long start together"
            self._notes.add(f"{text} here", f"{ref.namespace}/{ref.name}")
        return Gang(min_count=bounded(sum(minima.values())) if minima else None, role_min=minima)

    def _kueue(self, ref: GangRef, pods: Sequence[Pod]) -> Gang:
        total = _number(pods, "kueue.x-k8s.io/pod-group-total-count")
        workload = self._workloads.get((ref.namespace, ref.name))
        if workload is None:
            if any("kueue.x-k8s.io/podset-group-name" in pod.annotations for pod in pods):
                self._notes.add(_APART, f"{ref.namespace}/{ref.name}")
            return Gang(min_count=total)
        spec = workload.at("spec")
        sets = by_role(spec, "podSets")
        minima = {
            name: item.integer("minCount", 0) or item.integer("count", 0) or 0
            for name, item in sets.items()
        }
        if workload.key in self._slices.waiting:
            minima = self._slices.more(workload)
        if any(pod.node for pod in pods):
            # Kueue starts a job with fewer pods than it asks for; it never takes some away later.
            admission = workload.at("status", "admission")
            for name, given in by_role(admission, "podSetAssignments").items():
                minima[name] = given.integer("count", 0) or minima.get(name, 0)
        wish, role_wish = self._together(ref, sets)
        return Gang(
            min_count=total if total is not None else bounded(sum(minima.values())),
            role_min={name: bounded(least) for name, least in minima.items()},
            wish=wish,
            role_wish=role_wish,
            priority=_boosted(workload),
        )

    def _together(self, ref: GangRef, sets: dict[str, View]) -> tuple[Wish, dict[str, Wish]]:
        """Return the closeness of all roles together, where one group has them all, and of each."""
        requests = {name: item.at("topologyRequest") for name, item in sets.items()}
        wishes = {name: kueue_wish(request) for name, request in requests.items()}
        groups = Counter(request.text("podSetGroupName") for request in requests.values())
        common = next(iter(wishes.values()), {})
        whole = {key: level for key, level in common.items() if key in ("required", "preferred")}
        if len(sets) < 2 or not whole or groups[""] == len(sets):
            return {}, wishes
        same = all(whole.items() <= wish.items() for wish in wishes.values())
        if len(groups) > 1 or not same:
            if any(name and number > 1 for name, number in groups.items()):
                self._notes.add(_APART, f"{ref.namespace}/{ref.name}")
            return {}, wishes
        rest = {
            name: {key: value for key, value in wish.items() if key not in whole}
            for name, wish in wishes.items()
        }
        return whole, rest


def _boosted(workload: View) -> int | None:
    """Return what a Workload counts as: its priority, and what somebody has added to it since."""
    priority = workload.at("spec").integer("priority")
    boost = workload.annotations.get("kueue.x-k8s.io/priority-boost", "")
    added = whole_number(boost)
    if priority is None or added is None:
        return priority
    return min(max(priority + added, -(2**31)), 2**31 - 1)


def kueue_wish(request: View) -> Wish:
    """Read a topology request of Kueue's."""
    levels = {
        "required": request.text("required"),
        "preferred": request.text("preferred"),
        "pod_set_slice_required_topology": request.text("podSetSliceRequiredTopology"),
    }
    layers = request.raw.get("podsetSliceRequiredTopologyConstraints")
    return read_wish(levels, request.integer("podSetSliceSize", 1), layers)


def _listed(text: str, key: str = "") -> list[Any]:
    """Return the list that an annotation has, below a key if one is given; empty: it has none."""
    found = json_of(text)
    if key:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, list) else []


def _number(pods: Sequence[Pod], annotation: str) -> int | None:
    texts = [pod.annotations.get(annotation, "") for pod in pods]
    numbers = [int(text) for text in texts if text.isdecimal() and len(text) < 10]
    return bounded(max(numbers)) if numbers else None


def _native(spec: View) -> Gang:
    policy = spec.at("schedulingPolicy")
    minimum = 0
    if "gang" in policy:
        minimum = bounded(policy.at("gang").integer("minCount", 0) or 1)
    return Gang(
        min_count=minimum,
        within=label_keys(spec),
        priority=spec.integer("priority"),
        priority_class=spec.text("priorityClassName"),
        preemption_policy=spec.choice("preemptionPolicy", POLICIES, "") or None,
        disruption="all" if "all" in spec.at("disruptionMode") else "single",
    )


def _kai_wish(constraint: View) -> Wish:
    levels = {
        "required": constraint.text("requiredTopologyLevel"),
        "preferred": constraint.text("preferredTopologyLevel"),
    }
    return read_wish(levels, None, None)


def _kai(spec: View) -> Gang:
    roles = {item.text("name"): item for item in spec.list("subGroups")}
    minima = {
        name: bounded(item.integer("minMember", 0) or 0)
        for name, item in roles.items()
        if "minMember" in item
    }
    preemptibility = spec.choice("preemptibility", ("", "preemptible", "non-preemptible"), "")
    total = spec.integer("minMember", 0)
    return Gang(
        min_count=bounded(sum(minima.values()) if total is None else total),
        role_min=minima,
        wish=_kai_wish(spec.at("topologyConstraint")),
        role_wish={n: _kai_wish(item.at("topologyConstraint")) for n, item in roles.items()},
        queue=spec.text("queue"),
        priority_class=spec.text("priorityClassName"),
        preemptible=preemptibility == "preemptible" if preemptibility else None,
    )


def _volcano(spec: View) -> Gang:
    members = spec.at("minTaskMember")
    return _by_volcano(
        spec,
        spec.integer("minMember", 0) or 0,
        {name: bounded(members.integer(name, 0) or 0) for name in members.raw},
    )


def _volcano_job(spec: View) -> Gang:
    """Read a Job that has no PodGroup yet, as Volcano makes one of it."""
    minima = {}
    for task in spec.list("tasks"):
        least = task.integer("minAvailable", 0)
        replicas = task.integer("replicas", 0) or 0
        minima[task.text("name", "default")] = bounded(replicas if least is None else least)
    return _by_volcano(spec, spec.integer("minAvailable", 0) or sum(minima.values()), minima)


def _by_volcano(spec: View, minimum: int, roles: dict[str, int]) -> Gang:
    network = spec.at("networkTopology")
    tier: int | str | None = network.text("highestTierName") or None
    if tier is None:
        tier = network.integer("highestTierAllowed", 0)
    return Gang(
        min_count=bounded(minimum),
        # With fewer in all than the tasks' minima come to, Volcano asks for the sum alone.
        role_min=roles if minimum >= sum(roles.values()) else {},
        tier=tier,
        tier_is_hard=network.text("mode", "hard") == "hard",
        queue=spec.text("queue"),
        priority_class=spec.text("priorityClassName"),
    )


def _plugins(spec: View) -> Gang:
    return Gang(min_count=bounded(spec.integer("minMember", 0) or 0))
