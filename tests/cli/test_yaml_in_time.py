"""YAML takes its time to write: a run is told whether anything of it is."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.errors import UsageError
from tests.cli.conftest import Cli

COMMANDS = {
    "plan": "kantopt.planning.plan.make_plan",
    "defrag": "kantopt.planning.defrag.defragment",
    "certify": "kantopt.planning.certify.certify",
}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "in_yaml"),
    [
        (["plan"], False),
        (["plan", "-o", "yaml"], True),
        (["plan", "-O", "p.json", "--last-plan", "last.json"], False),
        (["plan", "--last-plan", "last.yaml"], True),
        (["defrag", "-O", "p.yaml"], True),
        (["defrag", "-o", "json", "--last-plan", "last.yml"], True),
        (["certify", "-o", "json"], False),
        (["certify", "-O", "c.yaml"], True),
        (["certify", "--counter-example", "better.yaml"], True),
        (["certify", "--counter-example", "better.json"], False),
    ],
)
def test_a_run_knows_whether_yaml_is_written(
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    in_yaml: bool,
) -> None:
    asked: list[bool] = []

    def taken(_question: Any, _asked: Any, settings: Any, *_: Any, **__: Any) -> Any:
        asked.append(settings.in_yaml)
        raise UsageError("far enough")

    command, *options = arguments
    monkeypatch.setattr(COMMANDS[command], taken)
    goal = ["--goal", "empty-nodes=+1"] if command == "defrag" else []
    cli(command, "snap.yaml", "jobs.yaml", *goal, *options)
    assert asked == [in_yaml]
