"""Patterns that choose the nodes of HyperNodes: as RE2 reads them, in time linear in the names."""

from __future__ import annotations

import pytest

from kantopt.errors import BadDataError
from tests.formats.cluster_objects import node, read
from tests.formats.test_kubernetes_queues import hypernode

LABEL = "topology.volcano.sh/tier-1"


def chosen(pattern: str, *names: str) -> list[str]:
    """Return the nodes that a pattern puts into a HyperNode."""
    tree = hypernode("s1", 1, {"regexMatch": {"pattern": pattern}})
    nodes = read(tree, *map(node, names)).snapshot.nodes
    return [each.name for each in nodes if each.labels.get(LABEL) == "s1"]


@pytest.mark.parametrize(
    ("pattern", "name", "other"),
    [
        ("node-1", "gpu-node-12", "gpu-node-2"),  # anywhere, as regexp.MatchString
        ("[]a]$", "node-a", "node-b"),
        ("[a-]z", "n-z", "nbz"),
        ("n[^]-a]", "nb", "na"),
        ("[[:digit:]-]+$", "a1-2", "a1-b"),
        ("^[[:^alpha:]]", "1a", "a1"),
        (r"\x61\x{62}", "nab", "nba"),
        ("(?P<rack>r1)-(?<slot>s2)", "r1-s2", "r1-s1"),
        ("(?i)NODE-1", "node-1", "node-2"),
        (r"^\p{Ll}", "a1", "1a"),
        ("^a$", "a", "ab"),
        ("(" * 200 + "a1" + ")" * 200, "a1", "b1"),
    ],
)
def test_patterns_are_read_as_re2_does(pattern: str, name: str, other: str) -> None:
    assert chosen(pattern, name, other) == [name]


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", ")", "a)", "*a", "a**", "[a", "[b-a]", "[[:x:]]", r"(a)\1", "(?=a)", "(?<=a)"),
        *("a\\", "a{2,1}", "a{999999999}", "(a{50}){50}", r"\xzz"),
    ],
)
def test_what_re2_does_not_read_is_refused(pattern: str) -> None:
    with pytest.raises(BadDataError, match=r"regular expression.*\w"):
        read(hypernode("s1", 1, {"regexMatch": {"pattern": pattern}}), node("a"))


def test_a_pattern_that_backtracking_would_hang_on_chooses_nodes() -> None:
    assert chosen("^(x+x+)+y$", "x" * 40, "x" * 40 + "y") == ["x" * 40 + "y"]
