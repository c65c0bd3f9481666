"""What KAI's snapshot plugin writes: one archive with one JSON document, lists without kinds."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

from kantopt.errors import BadDataError, Problem
from kantopt.schema import inputs
from kantopt.schema.hints import shown

ZIP = b"PK\x03\x04"
"""How an archive begins."""
_OBJECTS = "rawObjects"
_KINDS = {
    "pods": ("v1", "Pod"),
    "nodes": ("v1", "Node"),
    "queues": ("scheduling.run.ai/v2", "Queue"),
    "podGroups": ("scheduling.run.ai/v2alpha2", "PodGroup"),
    "bindRequests": ("scheduling.run.ai/v1alpha2", "BindRequest"),
    "priorityClasses": ("scheduling.k8s.io/v1", "PriorityClass"),
    "configMaps": ("v1", "ConfigMap"),
    "persistentVolumes": ("v1", "PersistentVolume"),
    "persistentVolumeClaims": ("v1", "PersistentVolumeClaim"),
    "csiStorageCapacities": ("storage.k8s.io/v1", "CSIStorageCapacity"),
    "storageClasses": ("storage.k8s.io/v1", "StorageClass"),
    "csiDrivers": ("storage.k8s.io/v1", "CSIDriver"),
    "resourceClaims": ("resource.k8s.io/v1", "ResourceClaim"),
    "resourceSlices": ("resource.k8s.io/v1", "ResourceSlice"),
    "deviceClasses": ("resource.k8s.io/v1", "DeviceClass"),
    "topologies": ("kai.scheduler/v1alpha1", "Topology"),
}
"""API version and kind of each list; what a typed client has read names neither."""


def unzip(data: bytes, file: str) -> bytes:
    """Return the one file of an archive.

    Raises
    ------
    BadDataError
        If the archive is broken, locked or too large, or holds another number of files.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [item.filename for item in archive.infolist() if not item.is_dir()]
            if len(names) != 1:
                found = f"an archive of {len(names)} files"
                raise BadDataError([Problem(file, "", found, "an archive of one JSON file")])
            with archive.open(names[0]) as packed:
                text = b"".join(inputs.blocks_of(lambda: packed.read(inputs.BLOCK)))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError):
        raise BadDataError([Problem(file, "", "a broken archive", "a whole zip file")]) from None
    except RuntimeError:  # how zipfile says that a password is wanted
        raise BadDataError([Problem(file, "", "a locked archive", "one without a key")]) from None
    inputs.check_size(text, file, "unpacked data")
    return text


def is_kai_snapshot(value: object) -> bool:
    """Whether a JSON value is such a snapshot."""
    return isinstance(value, dict) and "apiVersion" not in value and _OBJECTS in value


def list_of(snapshot: dict[str, Any], file: str) -> dict[str, Any]:
    """Return the objects of a snapshot as a ``List``, each with its version and kind.

    Lists that are not known keep their name as kind, so that the import names them.

    Raises
    ------
    BadDataError
        If there is no mapping of lists.
    """
    raw = snapshot[_OBJECTS]
    if not isinstance(raw, dict):
        raise BadDataError([Problem(file, _OBJECTS, shown(raw), "a mapping of lists")])
    items: list[Any] = []
    problems = []
    for name, objects in raw.items():
        if objects is None:
            continue
        if not isinstance(objects, list):
            path = f"{_OBJECTS}.{name}"
            problems.append(Problem(file, path, shown(objects), "a list of objects"))
            continue
        version, kind = _KINDS.get(name, ("kai.scheduler/snapshot", name))
        both = {"apiVersion": version, "kind": kind}
        items += [{**both, **item} if isinstance(item, dict) else item for item in objects]
    if problems:
        raise BadDataError(problems)
    return {"apiVersion": "v1", "kind": "List", "items": items}
