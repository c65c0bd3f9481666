"""The examples in ``docs/cron``: accepted by those who read them, and doing what they say."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kantopt.planning.last_plan import read_last_plan
from scripts.bench.night_cluster import NightCluster, arrivals, moment
from tests.cli.conftest import ROOT, Cli, environment

EXAMPLES = ROOT / "docs" / "cron"


def cluster(minute: float) -> dict[str, Any]:
    """A small cluster at some minute of a night, as kubectl shows it."""
    night = NightCluster(2, arrivals(2, 2, 240.0))
    night.advance(minute)
    return night.kubectl()


def test_systemd_accepts_the_service_and_its_timer() -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: the units were not verified")
    units = [str(EXAMPLES / f"kantopt-defrag.{kind}") for kind in ("service", "timer")]
    done = subprocess.run(
        ["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_cron_job_fits_the_published_schemas() -> None:
    reason = "kubernetes-validate is not installed: the objects were not compared with the schemas"
    validator = pytest.importorskip("kubernetes_validate", reason=reason)
    objects = list(yaml.safe_load_all((EXAMPLES / "cronjob.yaml").read_text()))
    assert [each["kind"] for each in objects][-1] == "CronJob"
    version = validator.latest_version()
    for each in objects:
        validator.validate(each, version, strict=True)
    objects[-1]["spec"]["concurrentPolicy"] = "Forbid"
    with pytest.raises(validator.ValidationError):
        validator.validate(objects[-1], version, strict=True)


def test_the_command_of_the_cron_job_is_understood(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = list(yaml.safe_load_all((EXAMPLES / "cronjob.yaml").read_text()))[-1]
    inner = job["spec"]["jobTemplate"]["spec"]
    (container,) = inner["template"]["spec"]["containers"]
    program, command, given, *options = container["command"]
    assert (program, given) == ("kantopt", "/input/cluster.json")
    assert "--time-limit=60s" in options
    assert inner["activeDeadlineSeconds"] > 2 * 60
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KANTOPT_NOW", moment(0.0))
    Path("cluster.json").write_text(json.dumps(cluster(0.0)))
    done = cli(command, "cluster.json", *options, "--engine", "fast", "--time-limit", "1s")
    assert done.code == 0
    assert read_last_plan("plan.json").plan == read_last_plan("last.json").plan is not None


class Shell:
    """Runs the script with a kubectl that shows a cluster of ours, under a faked clock."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.state.mkdir()
        self._programs = folder / "bin"
        self._programs.mkdir()
        self._program("kubectl", f'test -s "{folder}/shown.json"\nexec cat "{folder}/shown.json"')
        self._program("kantopt", f'exec "{sys.executable}" -m kantopt "$@"')
        self._shown = folder / "shown.json"

    def _program(self, name: str, body: str) -> None:
        path = self._programs / name
        path.write_text(f"#!/bin/sh\nset -e\n{body}\n")
        path.chmod(0o755)

    def run(self, shown: dict[str, Any] | None, minute: float) -> tuple[int, dict[str, Any], str]:
        """Run it once; return its exit code, its last piece of news, and what it printed."""
        self._shown.write_text("" if shown is None else json.dumps(shown))
        done = subprocess.run(
            ["sh", str(EXAMPLES / "kantopt-defrag.sh"), "--time-limit=20s"],
            env=environment(
                PATH=f"{self._programs}{os.pathsep}{os.environ['PATH']}",
                STATE_DIRECTORY=str(self.state),
                KANTOPT_NOW=moment(minute),
            ),
            capture_output=True,
            text=True,
            check=False,
        )
        lines = done.stderr.splitlines()
        return done.returncode, json.loads(lines[-1]) if lines else {}, done.stdout


def test_the_script_in_a_loop(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    code, news, out = shell.run(cluster(0.0), 1.0)
    assert code in (0, 2)
    assert news["event"] == "done"
    first = code
    code, news, out = shell.run(cluster(0.0), 14.0)
    assert (code, news["event"], news["reused"]) == (first, "difference", True)
    assert out.startswith("NO CHANGE")
    kept = (shell.state / "last.json").read_bytes()
    assert shell.run(cluster(0.0), 16.0)[:1] == (65,), "the snapshot is too old"
    assert shell.run(None, 30.0) == (1, {}, ""), "kubectl fails, and nothing is planned"
    assert (shell.state / "last.json").read_bytes() == kept
    code, news, out = shell.run(cluster(90.0), 91.0)
    assert code in (0, 2)
    assert news["reused"] is False
    assert "SINCE THE LAST PLAN, made for 2026-09-01T20:00:00Z" in out
    figures = (shell.state / "kantopt.prom").read_text()
    at = 1788292800 + 91 * 60
    assert f"\nkantopt_last_success_timestamp_seconds {at}.0\n" in figures
    assert sorted(path.name for path in shell.state.iterdir()) == [
        "cluster.json",
        "kantopt.prom",
        "last.json",
        "plan.json",
        "run.lock",
    ]
