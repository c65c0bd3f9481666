"""What KAI's snapshot plugin writes is read as the objects that are in it."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kantopt.errors import BadDataError
from kantopt.planning.convert import convert
from tests.formats.cluster_objects import Object, node, pod, thing

GROUP = thing("scheduling.run.ai/v2alpha2", "PodGroup", "g", minMember=2, queue="q")
QUEUE = thing("scheduling.run.ai/v2", "Queue", "q", "", resources={"gpu": {"limit": 8}})
TOPOLOGY = thing("kai.scheduler/v1alpha1", "Topology", "t", "", levels=[{"nodeLabel": "rack"}])
PODS = [pod(f"p{i}", annotations={"pod-group-name": "g"}) for i in range(2)]
NODES = [node("a", {"rack": "r"})]


def bare(*objects: Object) -> list[Object]:
    """Objects as a typed client has them."""
    return [{k: v for k, v in each.items() if k not in ("apiVersion", "kind")} for each in objects]


RAW: dict[str, Any] = {
    "pods": bare(*PODS),
    "nodes": bare(*NODES),
    "queues": bare(QUEUE),
    "podGroups": bare(GROUP),
    "topologies": bare(TOPOLOGY),
    "csiDrivers": None,
}


def archive(path: Path, *texts: str) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for i, text in enumerate(texts):
            packed.writestr(f"snapshot{i or ''}.json", text)
    return str(path)


def text_of(raw: Any) -> str:
    return json.dumps({"config": {}, "schedulerParams": {}, "rawObjects": raw})


def test_an_archive_is_read_like_the_objects_of_kubectl(tmp_path: Path) -> None:
    items = [*NODES, *PODS, GROUP, QUEUE, TOPOLOGY]
    listed = tmp_path / "list.json"
    listed.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    packed = convert("kubernetes", [archive(tmp_path / "s.zip", text_of(RAW))])
    plain = convert("kubernetes", [str(listed)])
    assert (packed.snapshot, packed.pending) == (plain.snapshot, plain.pending)
    assert packed.pending.jobs[0].queue_name == "q"
    assert [level.name for level in packed.snapshot.topology.levels] == ["rack"]


def test_lists_that_are_not_known_are_named(tmp_path: Path) -> None:
    raw = {**RAW, "wonders": [{"metadata": {"name": "w"}}]}
    packed = convert("kubernetes", [archive(tmp_path / "s.zip", text_of(raw))])
    assert [line for line in packed.notes if "no use for" in line and "wonders" in line]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [(7, "a mapping of lists"), ({"pods": {}}, "a list of objects")],
)
def test_what_is_no_list_is_reported(tmp_path: Path, raw: Any, expected: str) -> None:
    with pytest.raises(BadDataError, match=expected):
        convert("kubernetes", [archive(tmp_path / "s.zip", text_of(raw))])


def test_an_archive_of_two_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match="2 files"):
        convert("kubernetes", [archive(tmp_path / "s.zip", "{}", "{}")])


@pytest.mark.parametrize("cut", [30, -30])
def test_a_broken_archive_is_refused(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "s.zip"
    archive(path, text_of(RAW))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(BadDataError, match="broken archive"):
        convert("kubernetes", [str(path)])


def test_damage_inside_an_archive_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as packed:
        packed.writestr("snapshot.json", text_of(RAW))
    data = bytearray(buffer.getvalue())
    data[200] ^= 1
    path = tmp_path / "s.zip"
    path.write_bytes(data)
    with pytest.raises(BadDataError, match="broken archive"):
        convert("kubernetes", [str(path)])
