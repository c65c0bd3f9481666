"""GPUs that count against limits of KAI's queues by other names: parts of GPUs, and MIG devices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from kantopt.formats.kubernetes.gangs import Dialect
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pod_requests import pod_requests
from kantopt.formats.view import View
from kantopt.schema.quantity import whole_number

_MIG = re.compile(r"nvidia\.com/mig-(\d{1,2})g\..+")
_SHARE = re.compile(r"\d{1,4}(?:\.\d{1,6})?")
_DEVICES = "gpu-fraction-num-devices"


def gpus_held(objects: Objects) -> Mapping[str, Fraction]:
    """Return what pods that run hold so of each queue, in whole GPUs.

    A MIG device counts as its compute slices. What waits is held against no limit: a quota knows
    one name of a resource.
    """
    groups = objects.by_name(Dialect.KAI, "PodGroup")
    queues = objects.named(Dialect.KAI, "Queue")
    held, notes = dict[str, Fraction](), objects.notes
    for pod in objects.pods() if queues else ():
        annotations, name = pod.annotations, "/".join(pod.key)
        group = groups.get((pod.key[0], annotations.get("pod-group-name", "")))
        queue = "" if group is None else group.at("spec").text("queue")
        queue = queue or pod.labels.get("kai.scheduler/queue", "")
        gpus = _gpus(pod, annotations) if queue in queues else 0
        if gpus is None:
            notes.add("pods with gpu-memory are not held against limits of queues", name)
        elif gpus and not pod.node:
            text = "pods that wait for MIG devices or parts of GPUs are held against no limits"
            notes.add(f"{text} of queues", name)
        elif gpus:
            text = "MIG devices and parts of GPUs that run count against limits of queues"
            notes.add(f"{text} as if they stayed", name)
            held[queue] = held.get(queue, Fraction(0)) + gpus
    return held


def _gpus(pod: View, annotations: Mapping[str, str]) -> Fraction | None:
    """Return what a pod asks for by these names; ``None`` if only its GPU tells."""
    if "gpu-memory" in annotations:
        return None
    requests = pod_requests(pod.at("spec"), pod.at("status"))
    found = Fraction(
        sum(int(size[1]) * n for name, n in requests.items() if (size := _MIG.fullmatch(name)))
    )
    share = annotations.get("gpu-fraction", "")
    if _SHARE.fullmatch(share):
        found += Fraction(share) * max(1, whole_number(annotations.get(_DEVICES, "")) or 1)
    return found
