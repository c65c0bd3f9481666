"""The guide to kubectl: its commands run as they stand, its table is what scripts say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kantopt.render.kube.steering import OTHERS, STEERING
from tests.render.api_server import serving
from tests.render.kube_trials import QUICK
from tests.render.kube_worlds import cluster, node, pod
from tests.render.kubectls import quick_kubectl

ROOT = Path(__file__).resolve().parent.parent.parent
GUIDE = (ROOT / "docs" / "with-kubernetes.md").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not there")
def test_the_commands_of_the_guide_carry_a_plan_out(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```sh\n(.*?)^```", GUIDE, flags=re.MULTILINE | re.DOTALL)
    waiting = pod("w-0", 8, owner="Job/w", priority=100, gates=("kantopt/hold",))
    victims = [pod(f"v-{i}", 4, on="n0", owner="Job/v") for i in range(2)]
    made = cluster([node("n0")], [*victims, waiting])
    command = tmp_path / "bin" / "kantopt"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kantopt "$@"\n')
    command.chmod(0o755)
    kubectl = quick_kubectl(tmp_path)
    with serving(made, tmp_path) as config:
        environment = {
            **os.environ,
            **QUICK,
            **kubectl,
            "PATH": f"{command.parent}:{kubectl['PATH']}",
            "PYTHONPATH": str(ROOT),
            "KUBECONFIG": str(config),
            "HOME": str(tmp_path),
        }
        done = subprocess.run(
            ["/bin/sh", "-eu", "-c", block],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert made.pods["uid-w-0"]["spec"]["nodeName"] == "n0"
    assert "All requests were accepted; nothing was changed." in done.stdout


def test_the_table_of_the_guide_is_what_scripts_say() -> None:
    rows = {"any other": OTHERS, **{kind or "none": row for kind, row in STEERING.items()}}
    for kind, (back, steered) in rows.items():
        assert f"| {kind} | {back} | {steered} |\n" in GUIDE
