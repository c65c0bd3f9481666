"""The examples in ``docs/cron``: accepted by those who read them, and doing what they say."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kantopt.planning.repeated import read_last_plan
from scripts.bench.night_cluster import NightCluster, arrivals, moment
from tests.cli.conftest import ROOT, Cli, environment

EXAMPLES = ROOT / "docs" / "cron"
GUIDE = (ROOT / "docs" / "cron.md").read_text(encoding="utf-8")


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


_KUBECTL = """\
echo '{{' | head -c ${{BEGUN:-0}}
test -s "{0}/shown.json" || {{ echo 'error: (Unauthorized)' >&2; exit 1; }}
exec cat "{0}/shown.json\""""
"""Shows what there is, or fails before anything was shown, or after something was."""


class Shell:
    """Runs the script with a kubectl that shows a cluster of ours, under a faked clock."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.state.mkdir()
        self._programs = folder / "bin"
        self._programs.mkdir()
        self._program("kubectl", _KUBECTL.format(folder))
        self._program("kantopt", f'exec "{sys.executable}" -m kantopt "$@"')
        self._shown = folder / "shown.json"

    def _program(self, name: str, body: str) -> None:
        path = self._programs / name
        path.write_text(f"#!/bin/sh\nset -e\n{body}\n")
        path.chmod(0o755)

    def ask(
        self, command: str, shown: dict[str, Any] | None, minute: float, **variables: str
    ) -> tuple[int, str, str]:
        """Run a command; return its exit code, what it printed, and what it complained of."""
        self._shown.write_text("" if shown is None else json.dumps(shown))
        done = subprocess.run(
            ["sh", "-c", command],
            env=environment(
                PATH=f"{self._programs}{os.pathsep}{os.environ['PATH']}",
                KANTOPT_NOW=moment(minute),
                **variables,
            ),
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def run(self, shown: dict[str, Any], minute: float) -> tuple[int, dict[str, Any], str]:
        """Run it once as the service does; return exit code, last piece of news, and output."""
        given = f"{EXAMPLES}/kantopt-defrag.sh --log-format json --time-limit=20s"
        state = {"STATE_DIRECTORY": str(self.state)}
        code, out, err = self.ask(f"sh {given}", shown, minute, **state)
        return code, json.loads(err.splitlines()[-1]), out


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


def test_the_line_of_the_crontab_says_nothing_where_nothing_went_wrong(tmp_path: Path) -> None:
    (table,) = re.findall(r"```crontab\n(.*?)```", GUIDE, flags=re.DOTALL)
    line = table.splitlines()[-1].split(maxsplit=5)[5]
    shell = Shell(tmp_path)
    (tmp_path / "home" / "kantopt").mkdir(parents=True)
    state = tmp_path / "home" / "kantopt"
    shutil.copy(EXAMPLES / "kantopt-defrag.sh", state)
    for minute in (1.0, 14.0):
        code, out, err = shell.ask(line, cluster(0.0), minute, HOME=str(tmp_path / "home"))
        assert code in (0, 2, 5)
        assert (out, err) == ("", "")
    assert read_last_plan(str(state / "plan.json")).plan is not None
    code, out, err = shell.ask(line, cluster(0.0), 16.0, HOME=str(tmp_path / "home"))
    assert (code, out) == (65, "")
    assert "16m ago, as the newest time in it" in err


@pytest.mark.parametrize("begun", ["0", "1"])
def test_a_kubectl_that_fails_is_told_and_leaves_the_files_of_the_run_before(
    begun: str, tmp_path: Path
) -> None:
    shell = Shell(tmp_path)
    shell.run(cluster(0.0), 1.0)
    before = {path.name: path.read_bytes() for path in shell.state.iterdir()}
    told = {"STATE_DIRECTORY": str(shell.state), "BEGUN": begun}
    code, out, err = shell.ask(f"sh {EXAMPLES}/kantopt-defrag.sh", None, 30.0, **told)
    assert (code, out) == (1, "")
    first, second = err.splitlines()
    assert first == "error: (Unauthorized)"
    assert second.startswith("kantopt-defrag: the cluster was not read (kubectl ends with 1)")
    assert {path.name: path.read_bytes() for path in shell.state.iterdir()} == before


def test_the_cron_job_says_how_its_image_is_made() -> None:
    head = (EXAMPLES / "cronjob.yaml").read_text().split("apiVersion")[0]
    assert "pip install kantopt" not in head
    assert "docker build -f Containerfile -t example.org/kantopt:1 ." in head
    assert (ROOT / "Containerfile").is_file()
