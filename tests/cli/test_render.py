"""``kantopt render``: what it refuses, and how it says so."""

from __future__ import annotations

from pathlib import Path

from kantopt.schema.dump import dump_json
from kantopt.schema.jobs import PodRef
from tests.cli.conftest import Cli
from tests.render.plans import bind, evict, make_plan


def test_the_command_names_what_it_refuses(files: Path, cli: Cli) -> None:
    held = evict("team-b/x", "n1", PodRef(name="x-0", uid="8c5c"), heir="team-a/w")
    made = make_plan([], [[held], [bind("team-a/w", "n1", PodRef(name="w-0", uid="77aa"))]])
    Path("plan.json").write_text(dump_json(made))
    refused = cli("render", "plan.json", "--to", "kubectl", "--shell")
    assert (refused.code, refused.out) == (64, "")
    assert "--evict-anyway" in refused.err
    done = cli("render", "plan.json", "--to", "kubectl", "--shell", "--evict-anyway")
    assert done.code == 0
    assert done.out.startswith("#!/bin/sh\n")
    unknown = cli("render", "plan.json", "--to", "kubectl", "--gate", "nosuch", "--evict-anyway")
    assert unknown.code == 64
    assert "found 'nosuch'" in unknown.err or 'found "nosuch"' in unknown.err
