"""Pods of a training cluster as ``kubectl get pods`` shows them, with all that a real one says."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import yaml
from kubectl_objects import GPU, GPU_TOLERATION, Object, uid

from kantopt.schema.yaml.scalars import resolve

_READS_OTHERWISE = re.compile(r"\d{4}-\d\d-\d\d|[-+]?\d+(:[0-5]?\d)+")
"""Dates, and numbers to the base of 60: older readers take them for such, so they are quoted."""

_SCRIPT = """\
set -e
export NCCL_DEBUG=INFO
# one process for each GPU
torchrun --nnodes "$WORLD_SIZE" --nproc-per-node 8 \\
  train.py --config /etc/config/run.yaml
"""


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes YAML as ``kubectl`` does: text in several lines literally, long text wrapped."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _string(dumper: Any, text: str) -> Any:
    style = None
    if "\n" in text:
        style = "|"
    elif resolve(text) is not text or _READS_OTHERWISE.match(text):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _string)


def as_yaml(document: Object) -> str:
    """Write what ``kubectl -o yaml`` writes."""
    text: str = yaml.dump(document, Dumper=_Dumper, default_flow_style=False, allow_unicode=True)
    return text


def pods(count: int) -> Object:
    """Make the list that ``kubectl get pods -o yaml`` shows: gangs of 64 pods of 8 GPUs each."""
    items = [_pod(number) for number in range(count)]
    return {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}


def _pod(number: int) -> Object:
    job, rank = f"train-{number // 64}", number % 64
    name = f"{job}-{rank}-{uid('pod', str(number))[:5]}"
    spec = _spec(job, rank, name)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(number, job, name, spec),
        "spec": {**spec, "nodeName": f"gpu-{number % 1000:04d}"},
        "status": _status(number, name),
    }


def _moment(number: int, seconds: int = 0) -> str:
    return f"2026-09-{1 + number % 28:02d}T{number % 24:02d}:{number % 60:02d}:{seconds:02d}Z"


def _sha(*words: str) -> str:
    return hashlib.sha256("/".join(words).encode()).hexdigest()


def _metadata(number: int, job: str, name: str, spec: Object) -> Object:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": uid("job", job)}
    annotations = {
        "cni.projectcalico.org/containerID": _sha("sandbox", name),
        "cni.projectcalico.org/podIP": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}/32",
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container "
        "main; cpu, memory limit for container main",
        "prometheus.io/scrape": "true",
    }
    if number % 5 == 0:
        applied = json.dumps({"kind": "Pod", "spec": spec}, separators=(",", ":"))
        annotations["kubectl.kubernetes.io/last-applied-configuration"] = applied + "\n"
    return {
        "annotations": annotations,
        "creationTimestamp": _moment(number),
        "finalizers": ["batch.kubernetes.io/job-tracking"],
        "generateName": f"{job}-",
        "labels": {
            "app": job,
            "batch.kubernetes.io/job-completion-index": str(number % 64),
            "batch.kubernetes.io/job-name": job,
            "kueue.x-k8s.io/managed": "true",
        },
        "name": name,
        "namespace": "research",
        "ownerReferences": [{**owner, "blockOwnerDeletion": True, "controller": True}],
        "resourceVersion": str(123_456_789 + 13 * number),
        "uid": uid("pod", name),
    }


def _spec(job: str, rank: int, name: str) -> Object:
    token = f"kube-api-access-{uid('token', name)[:5]}"
    resources = {"cpu": "12", "memory": "120Gi", GPU: "8", "rdma/hca": "1"}
    environment = {
        "WORLD_SIZE": "64",
        "RANK": str(rank),
        "NCCL_DEBUG": "INFO",
        "NCCL_IB_DISABLE": "0",
        "MASTER_ADDR": f"{job}-0.{job}",
        "MASTER_PORT": "29500",
    }
    token_source = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "root-ca.crt"}},
    ]
    product = {"key": f"{GPU}.product", "operator": "In", "values": ["NVIDIA-H100-80GB-HBM3"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [product]}]}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
        "containers": [
            {
                "args": ["-c", _SCRIPT],
                "command": ["/bin/bash"],
                "env": [{"name": key, "value": value} for key, value in environment.items()],
                "image": "registry.example.org/ml/main:24.08",
                "imagePullPolicy": "IfNotPresent",
                "name": "main",
                "ports": [{"containerPort": 29500, "name": "nccl", "protocol": "TCP"}],
                "resources": {"limits": resources, "requests": resources},
                "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}, "privileged": False},
                "terminationMessagePath": "/dev/termination-log",
                "volumeMounts": [
                    {"mountPath": "/data", "name": "data"},
                    {"mountPath": "/dev/shm", "name": "shm"},
                    {"mountPath": "/var/run/secrets/token", "name": token, "readOnly": True},
                ],
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 1000,
        "priorityClassName": "prod",
        "restartPolicy": "Never",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        "tolerations": [
            GPU_TOLERATION,
            *(
                {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "tolerationSeconds": 300}
                for key in ("not-ready", "unreachable")
            ),
        ],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{job}"}},
            {"emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}, "name": "shm"},
            {"name": token, "projected": {"defaultMode": 420, "sources": token_source}},
        ],
    }


def _status(number: int, name: str) -> Object:
    address = f"10.1.{number >> 8 & 255}.{number & 255}"
    conditions: list[Object] = [
        {
            "lastProbeTime": None,
            "lastTransitionTime": _moment(number, seconds),
            "status": "True",
            "type": kind,
        }
        for seconds, kind in enumerate(
            ("PodScheduled", "Initialized", "PodReadyToStartContainers", "ContainersReady", "Ready")
        )
    ]
    if number % 17 == 0:
        conditions[-1] |= {
            "status": "False",
            "reason": "ContainersNotReady",
            "message": "containers with unready status: [main] since the image was not there in "
            "time; it is pulled again",
        }
    container = {
        "containerID": f"containerd://{_sha('container', name)}",
        "image": "registry.example.org/ml/main:24.08",
        "imageID": f"registry.example.org/ml/main@sha256:{_sha('image')}",
        "lastState": {},
        "name": "main",
        "ready": number % 17 != 0,
        "restartCount": number % 3,
        "started": True,
        "state": {"running": {"startedAt": _moment(number, 9)}},
    }
    return {
        "conditions": conditions,
        "containerStatuses": [container],
        "hostIP": f"10.9.{number >> 8 & 255}.{number & 255}",
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "qosClass": "Burstable",
        "startTime": _moment(number, 2),
    }
