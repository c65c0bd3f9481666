"""The commands of the guides to batch systems do what these say, on objects of the system."""

from __future__ import annotations

import json
import re
import shlex
import zipfile
from pathlib import Path

import pytest

from kantopt.cli.endings import run
from kantopt.schema.files import load_raw

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "formats" / "fixtures"
CASES = {
    "kueue": "pending-workload-v1beta2",
    "volcano": "pending-gang-hard-tier",
    "kai": "sub-groups",
    "koordinator": "pod-group",
}
LISTS = {
    "Node": "nodes",
    "Pod": "pods",
    "PodGroup": "podGroups",
    "PriorityClass": "priorityClasses",
    "Queue": "queues",
    "Topology": "topologies",
}


def commands(system: str) -> list[list[str]]:
    text = (ROOT / "docs" / f"with-{system}.md").read_text(encoding="utf-8")
    lines = re.findall(r"^kantopt (.*)$", text, re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


def dump(system: str, folder: Path) -> None:
    """Write a fixture as the guide has it fetched: a list, and KAI's archive."""
    path = FIXTURES / system / f"{CASES[system]}.yaml"
    objects = [raw.data for raw in load_raw([str(path)])]
    listed = {"apiVersion": "v1", "kind": "List", "items": objects}
    (folder / "cluster.json").write_text(json.dumps(listed), encoding="utf-8")
    raws: dict[str, list[object]] = {}
    for each in objects:
        if each["kind"] in LISTS:
            bare = {k: v for k, v in each.items() if k not in ("apiVersion", "kind")}
            raws.setdefault(LISTS[each["kind"]], []).append(bare)
    with zipfile.ZipFile(folder / "snapshot.zip", "w") as packed:
        packed.writestr("snapshot.json", json.dumps({"rawObjects": raws}))


@pytest.mark.parametrize("system", CASES)
def test_the_commands_of_a_guide_run(
    system: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    dump(system, tmp_path)
    monkeypatch.chdir(tmp_path)
    asked = commands(system)
    assert [words[0] for words in asked] == ["plan", "explain", "certify", "convert", "convert"]
    for words in asked:
        proved = (0, 10, 11) if words[0] == "certify" else (0,)
        assert run(words) in proved, words
    # What comes back is read like what it was made of.
    assert run(["convert", "--from", "kubernetes", "again.yaml", "-O", "native-again.yaml"]) == 0
    capsys.readouterr()
    told = [path.read_text(encoding="utf-8") for path in map(Path, ("native.yaml", "again.yaml"))]
    assert "name: gpu-3" in told[0]
    assert "kind: List" in told[1]


@pytest.mark.parametrize("system", CASES)
def test_guides_are_short(system: str) -> None:
    text = (ROOT / "docs" / f"with-{system}.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 80
