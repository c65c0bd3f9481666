"""Nothing in a document becomes a command, a document or markup; and what tries it notices."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree.ElementTree import ParseError

import pytest
from markupsafe import Markup
from yaml import YAMLError

from kantopt.errors import BadDataError
from kantopt.render import manifests, targets
from kantopt.render.kube import script
from kantopt.render.shell import word
from kantopt.report import chart, page
from kantopt.schema.jobs import PodRef
from scripts.fuzz_renderers import SAMPLE
from tests.render.hostile import CANARY, CANARY_FILE, NUL, Strings, without_nul
from tests.render.plans import bind, make_plan
from tests.render.shell_stubs import Shell
from tests.render.trials import TRIALS


@pytest.mark.parametrize("name", TRIALS)
def test_names_are_names_whatever_they_hold(name: str, tmp_path: Path) -> None:
    for seed in range(SAMPLE):
        assert not TRIALS[name](seed, tmp_path), seed


def test_no_word_is_made_of_a_name_that_no_argument_can_hold() -> None:
    with pytest.raises(BadDataError, match=r'found "x-0\\u0000y", expected a name without NUL'):
        word("x-0\0y")


def test_a_script_leaves_names_alone_that_nothing_can_have() -> None:
    gated = PodRef(name="x-0\0y", uid="u", scheduling_gates=("kantopt/hold",))
    plan = make_plan([], [[bind("a/b", "n1", gated)]])
    text = targets.TARGETS["kubectl"].render(plan, targets.Asked(shell=True)).text
    assert "it has a name that nothing in Kubernetes can have" in text
    assert "\nbind " not in text


def test_every_target_is_tried() -> None:
    missing = sorted(set(targets.TARGETS) - {name.partition(" ")[0] for name in TRIALS})
    assert not missing, f"no trial in tests/render/trials.py: {missing}"


def test_strings_hold_what_they_should() -> None:
    rng = random.Random(0)
    drawn = [Strings(rng)() for _ in range(3000)]
    assert all(drawn)
    told = "".join(drawn)
    for part in (f"$({CANARY})", f"`{CANARY}`", "\nEOF\n", "</script>", "\u202e", "\x1b[2J", NUL):
        assert part in told
    plain = without_nul(rng)
    assert all(NUL not in plain() for _ in range(1000))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"kubectl get {CANARY}\n$({CANARY} x)", "a command of nobody ran"),
        (f"kubectl get\n: > {CANARY_FILE}", "a file of nobody"),
        ("kubectl get; exit 3", "ends with 3"),
        ("nobody-has-this", "the shell says"),
    ],
)
def test_what_should_not_run_is_noticed(text: str, said: str, tmp_path: Path) -> None:
    assert any(said in fault for fault in Shell(tmp_path).run(text))


def test_calls_are_kept_as_they_were(tmp_path: Path) -> None:
    stubs = Shell(tmp_path)
    words = "'' 'a\nb' '*' \"$(printf '\\033')\""
    assert not stubs.run(f"kubectl create {words} -f - <<'EOF'\nbody\nEOF\nscontrol x\n")
    first, second = stubs.calls()
    assert first.words == ["kubectl", "create", "", "a\nb", "*", "\x1b", "-f", "-"]
    assert first.stdin == "body\n"
    assert (second.words, second.stdin) == (["scontrol", "x"], "")


def as_it_is(text: str) -> str:
    return text


def plainly(data: dict[str, Any], *, ascii_only: bool) -> str:
    name = data["metadata"]["name"]
    return f"kind: {data['kind']}\nmetadata:\n  name: {name}\n  namespace: ''\n"


@pytest.mark.parametrize(
    ("name", "module", "function", "instead"),
    [
        ("kubectl --shell", script, "word", as_it_is),
        ("kubectl --shell", script, "comment", "# {}".format),
        ("kueue", manifests, "one_line", as_it_is),
        ("volcano", manifests, "yaml_text", plainly),
        ("svg", chart, "escape", as_it_is),
        ("svg", chart, "escaped", as_it_is),
        ("html", page, "_as_json", json.dumps),
        ("html", page, "escaped", Markup),
    ],
)
def test_a_renderer_that_takes_names_as_they_are_is_found_out(
    name: str,
    module: ModuleType,
    function: str,
    instead: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    TRIALS[name](0, tmp_path)  # what is kept is made of what it should be
    monkeypatch.setattr(module, function, instead)

    def wrong(seed: int) -> bool:
        try:
            return bool(TRIALS[name](seed, tmp_path))
        except (ValueError, YAMLError, ParseError):
            return True  # what comes out cannot be read at all

    assert any(map(wrong, range(SAMPLE)))
