"""Patterns as RE2 reads them, beside Python's engine; time that no pattern can make long."""

from __future__ import annotations

import random
import re

import pytest

from kantopt.errors import BadDataError
from kantopt.formats.linear_regex import LinearRegex, _Automaton
from tests.formats.cluster_objects import node, read
from tests.formats.test_kubernetes_queues import hypernode

ATOMS = ("a", "b", "-", ".", "[ab]", "[^a]", "[a-c]", r"\d", r"\W", r"\.", "(?:ab|b)", "(c|)", "0")
TIMES = ("", "", "", "*", "+", "?", "{2}", "{1,}", "{0,2}", "*?")
PLACES = ("", "", "^", "$", r"\b", r"\B")


def some_pattern(rng: random.Random, depth: int = 2) -> str:
    parts = []
    for _ in range(rng.randint(1, 4)):
        atom = rng.choice(ATOMS)
        if depth and rng.random() < 0.3:
            atom = f"({some_pattern(rng, depth - 1)})"
        parts.append(rng.choice(PLACES) + atom + rng.choice(TIMES))
    if rng.random() < 0.2:
        parts.insert(len(parts) // 2, "|")
    return "".join(parts)


def test_patterns_match_what_a_backtracking_engine_matches() -> None:
    rng = random.Random(1)
    found = 0
    for _ in range(3000):
        pattern = some_pattern(rng)
        # Of an empty text Python's \\B says the opposite of RE2's.
        text = "".join(rng.choice("abc-.0") for _ in range(rng.randint(1, 7)))
        expected = re.search(pattern, text) is not None
        assert LinearRegex(pattern).found_in(text) == expected, (pattern, text)
        found += expected
    assert 500 < found < 2500


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("node-1", "gpu-node-12", True),  # anywhere, as regexp.MatchString
        ("", "", True),
        ("[]a]", "]", True),
        ("[a-]", "-", True),
        ("[^]-a]", "_", False),
        ("[[:digit:]-]+$", "a1-2", True),
        ("[[:^alpha:]]", "a", False),
        (r"\x41\x{42}", "AB", True),
        (r"\d", "\u0663", False),  # digits are ASCII's
        ("a{,2}", "a{,2}", True),  # no repetition
        ("(?P<rack>r1)-(?<slot>s2)", "r1-s2", True),
        ("^a$", "a\n", False),  # the end is the end
        (".", "\n", False),
    ],
)
def test_patterns_are_read_as_re2_does(pattern: str, text: str, expected: bool) -> None:
    assert LinearRegex(pattern).found_in(text) == expected


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", ")", "a)", "*a", "a**", "[a", "[b-a]", "[[:x:]]", r"(a)\1", "(?=a)", "(?<=a)"),
        *("(?i)a", "a\\", r"\pL", "a{2,1}", "a{999999999}", "(a{50}){50}", r"\xzz"),
        "(" * 200 + ")" * 200,
    ],
)
def test_what_re2_or_we_do_not_read_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        LinearRegex(pattern)
    with pytest.raises(BadDataError, match="a regular expression"):
        read(hypernode("s1", 1, {"regexMatch": {"pattern": pattern}}), node("a"))


def test_no_pattern_makes_a_text_long_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = []
    plain = _Automaton._step
    monkeypatch.setattr(
        _Automaton, "_step", lambda *given: steps.append(len(given[1])) or plain(*given)
    )
    assert not LinearRegex("^(x+x+)+y$").found_in("x" * 40)
    assert len(steps) <= 41
    assert max(steps) < 10


def test_a_pattern_that_backtracking_would_hang_on_chooses_nodes() -> None:
    names = ["x" * 40, "x" * 40 + "y"]
    tree = hypernode("s1", 1, {"regexMatch": {"pattern": "^(x+x+)+y$"}})
    imported = read(tree, *map(node, names))
    members = [each.name for each in imported.snapshot.nodes if len(each.labels) > 0]
    assert names[1] in members
    labels = {each.name: each.labels for each in imported.snapshot.nodes}
    assert labels[names[0]] != labels[names[1]]
    assert "topology.volcano.sh/tier-1" not in labels[names[0]]
