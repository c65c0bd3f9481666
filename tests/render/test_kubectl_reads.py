"""What is written as YAML is read by the real kubectl as by us, whatever names hold."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest

from kantopt.render.targets import TARGETS
from tests.render.hostile import hostile_plan
from tests.render.schemas import documents
from tests.render.trials import YAML_TARGETS

MARK = "kantopt/read"


def read_by_kubectl(text: str) -> list[dict[str, Any]]:
    """Have kubectl annotate documents without a cluster, and take the annotation out again."""
    asked = ["kubectl", "annotate", "--local", "-f", "-", f"{MARK}=yes", "-o", "json"]
    done = subprocess.run(asked, input=text.encode(), capture_output=True, check=False)
    assert not done.returncode, done.stderr
    rest, decoder, found = done.stdout.decode().strip(), json.JSONDecoder(strict=False), []
    while rest:
        item, end = decoder.raw_decode(rest)
        rest = rest[end:].lstrip()
        found.append(item)
    for item in found:
        del item["metadata"]["annotations"][MARK]
        if not item["metadata"]["annotations"]:
            del item["metadata"]["annotations"]
    return found


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
@pytest.mark.parametrize("name", YAML_TARGETS)
def test_kubectl_reads_what_we_read(name: str) -> None:
    target, asked = YAML_TARGETS[name]
    read = 0
    for seed in range(12):
        text = TARGETS[target].render(hostile_plan(seed), asked).text
        found = documents(text)
        if found:
            assert read_by_kubectl(text) == found
            read += len(found)
    assert read
