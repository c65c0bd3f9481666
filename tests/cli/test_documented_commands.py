"""Commands of README.md and ``docs`` run as they stand there, on clusters of ``instances``."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from kantopt.cli.app import COMMANDS
from kantopt.cli.help import EXAMPLES
from tests.cli.conftest import Cli, Outcome, environment
from tests.test_docs import ROOT, options_of

INSTANCES = ROOT / "instances"
DOCUMENTS = {
    str(path.relative_to(ROOT)): path
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
}
HELP = "kantopt COMMAND --help"
"""Stands for the examples of all commands."""

RENAMED = {
    '"eval': '"llm-8',
    '"team-d"': '"team-a"',
    "gpu-b1r1n1": "gpu-01",
    "gpu-b1r3n1": "gpu-017",
    "gpu-b2r1n1": "gpu-11",
    "gpu-b2r3n": "rack-3-",
    '"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"': '"pool": "h100"',
}
"""Names in the cluster of Kubernetes that the texts call otherwise."""
NATIVE = ("docs/capacity.md", "docs/preemption.md", "docs/report-page.md", "docs/simulate.md")
"""In these the job llm-8 comes from jobs.yaml, so that it must not wait in cluster.json as well."""
BEFORE = {
    "docs/batch-systems.md": ("kantopt plan cluster.json -o json -O plan.json",),
    "docs/certificates.md": ("kantopt plan cluster.json jobs.yaml -o json -O plan.json",),
    "docs/report-page.md": ("kantopt plan cluster.json jobs.yaml -o json -O plan.json",),
}
"""What makes the files that a text takes for granted."""
SMALLER = {
    "in 0 1 2 3 4": "in 0",
    "--for 7d": "--for 2h",
    "--warm-up 1d": "--warm-up 30m",
    "--workers 8": "--workers 2",
    "0,4,8": "0,1",
    "0.9,1.0,1.1": "0.9",
    "-O trace.yaml": "-O drawn.yaml",
    "-O cluster.yaml": "-O converted.yaml",
}
"""What would last too long or be in the way of others, and how it is asked instead."""
NOT_RUN = {
    r"docs/with-slurm.md: .*": "tests/formats/slurm/test_guide.py and tests/slurm run them",
    r"README.md: .*--to slurm.*": "needs a plan for Slurm: tests/slurm runs it",
    r"docs/with-(kai|koordinator|kueue|volcano).md: .*": "tests/formats/test_system_guides.py",
    r"docs/with-kubernetes.md: sh plan.sh.*": "tests/render/test_guide.py, with an API server",
    r"README.md: python3 scripts/(quickstart|check).py.*": "they install from an index",
    r".*: python scripts/bench .*": "minutes each: tests/bench ask small ones",
    r".*: OBJECTS=\S+": "names that only a real kubectl reads",
    r"docs/order.md: .*": "third-party data",
    r"docs/defrag.md: .*/numa.*": "no cluster in instances has zones",
}
"""Lines that are not run, each with the reason."""
SPARING = {"--engine": "fast", "--time-limit": "2s"}
"""Options that commands get beside their own, those that have them."""
SECONDS = 60
"""Most that a line may take that a shell runs."""


def lines_of(name: str) -> Iterator[str]:
    """Give the lines of the shell blocks, those that a backslash or && breaks put together."""
    if name == HELP:
        yield from (line for command in COMMANDS for line in EXAMPLES[command])
        return
    text = DOCUMENTS[name].read_text(encoding="utf-8")
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield from re.sub(r"(?:\\|(?<=&&))\n\s*", " ", block).splitlines()


def why_not_run(name: str, line: str) -> str | None:
    found = [why for form, why in NOT_RUN.items() if re.fullmatch(form, f"{name}: {line}")]
    return found[0] if found else None


@cache
def kubernetes() -> str:
    text = (INSTANCES / "kubernetes" / "cluster.json").read_text(encoding="utf-8")
    for old, new in RENAMED.items():
        assert old in text
        text = text.replace(old, new)
    return text


def furnish(folder: Path, name: str) -> None:
    """Write the files that the texts name."""
    snapshot = (INSTANCES / "quickstart" / "snapshot.yaml").read_text(encoding="utf-8")
    jobs = (INSTANCES / "quickstart" / "jobs.yaml").read_text(encoding="utf-8")
    native = jobs.replace("llm-next\n  namespace: research", "llm-8\n  namespace: team-a")
    assert native != jobs
    cluster = json.dumps(yaml.safe_load(snapshot)) if name in NATIVE else kubernetes()
    if name == "docs/capacity.md":  # there it runs, and something else waits alone
        cluster = cluster.replace(
            '"llm-base", "namespace": "research"', '"llm-8", "namespace": "team-a"'
        )
        assert '"team-a"' in cluster
        loaded = yaml.safe_load(jobs)
        native = yaml.safe_dump({**loaded, "jobs": loaded["jobs"][:1]})
    if name == "docs/explain.md" or name in NATIVE:
        jobs = native
    files = {"cluster.json": cluster, "later.json": cluster, "now.json": cluster}
    files |= {"snapshot.yaml": snapshot, "cluster.yaml": snapshot, "jobs.yaml": jobs}
    files["trace.yaml"] = (INSTANCES / "over-time" / "trace.yaml").read_text(encoding="utf-8")
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
    (folder / "instances").symlink_to(INSTANCES)
    programs = folder / "bin"
    programs.mkdir()
    having = {
        option: "|".join(each for each in COMMANDS if option in options_of(each))
        for option in SPARING
    }
    cases = "".join(
        f'case "$1" in {names}) set -- "$@" {option} {SPARING[option]};; esac\n'
        for option, names in having.items()
    )
    for program, body in {
        "kantopt": f'{cases}exec "{sys.executable}" -m kantopt "$@"',
        "kubectl": f'case "$1" in get) exec cat "{folder}/later.json";; *) cat > /dev/null;; esac',
    }.items():
        (programs / program).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        (programs / program).chmod(0o755)


def run(line: str, folder: Path, cli: Cli) -> Outcome:
    """Run a line: in this process if it is a command of ours and nothing else, or in a shell."""
    if re.fullmatch(r"kantopt [^|&;$*]*(?:'[^']*'[^|&;$*]*)*", line.partition("  #")[0]):
        _, command, *words = shlex.split(line, comments=True)
        return cli(
            command, *words, *(word for option in SPARING for word in sparing(option, command))
        )
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        env=environment(PATH=path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def sparing(option: str, command: str) -> tuple[str, ...]:
    """Return what an option is set to, if the command has it."""
    return (option, SPARING[option]) if option in options_of(command) else ()


def good(line: str) -> tuple[int, ...]:
    """Exit codes that an answer may have: README.md says what they mean."""
    if "--detailed-exitcode" in line:
        return (0, 2, 3, 5)
    if "kantopt certify" in line:
        return (0, 10, 11)
    if "--goal" in line or "kantopt drain" in line:
        return (0, 3)
    return (0, 4) if "kantopt capacity" in line or "--clear" in line else (0,)


@pytest.mark.parametrize("name", [*DOCUMENTS, HELP])
def test_commands_run_as_they_stand(
    name: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line for line in lines_of(name) if why_not_run(name, line) is None]
    furnish(tmp_path, name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KANTOPT_NOW", "2026-09-01T02:05:00Z")
    failed = []
    for line in [*BEFORE.get(name, ()), *lines]:
        for old, new in SMALLER.items():
            line = line.replace(old, new)
        done = run(line, tmp_path, cli)
        if done.code not in good(line):
            failed.append(f"{line}\n  exit {done.code}: {done.err.strip()}")
    assert not failed, "\n".join(failed)


def test_the_example_of_init_is_taken_by_the_scheduled_run_and_by_kubectl(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("init").code == 0
    for line in (
        next(each for each in lines_of("docs/cron.md") if "--max-snapshot-age" in each),
        *BEFORE["docs/report-page.md"],
        next(each for each in lines_of("README.md") if "--to kubectl --shell" in each),
    ):
        done = run(line.replace("cluster.json", "cluster.yaml"), tmp_path, cli)
        assert done.code in good(line), f"{line}\n{done.err}"
    script = (tmp_path / "plan.sh").read_text(encoding="utf-8")
    assert "llm-next-0" in script
    assert "backfill-0" in script


def test_what_is_not_run_is_there_and_most_is_run() -> None:
    lines = [(name, line) for name in DOCUMENTS for line in lines_of(name)]
    for form in NOT_RUN:
        assert any(re.fullmatch(form, f"{name}: {line}") for name, line in lines), form
    ours = [(name, line) for name, line in lines if "kantopt " in line]
    assert len(ours) > 60
    assert sum(why_not_run(name, line) is None for name, line in ours) > 0.6 * len(ours)
