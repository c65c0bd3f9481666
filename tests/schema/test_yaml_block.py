"""The fast way to read YAML: what it reads it reads as the other does, and it reads kubectl's."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kantopt.errors import BadDataError
from kantopt.schema.files import parse_documents
from kantopt.schema.yaml.block import read_block_yaml
from kantopt.schema.yaml.text import parse_yaml
from tests.campaign import some
from tests.yaml_scalars import KEYS, SCALARS

ROOT = Path(__file__).parents[2]
SCRIPTS = str(ROOT / "scripts")
sys.path.insert(0, SCRIPTS)  # where Python looks when it runs a script there
try:
    from kubectl_pods import as_yaml, pods
finally:
    sys.path.remove(SCRIPTS)

DUMP = as_yaml(pods(18)).splitlines(keepends=True)
"""18: the first pod has its last applied form, the last one is not ready and says so."""

IN_OTHER_FORMS = {
    "a flow mapping": "a: {b: 1}",
    "a flow list": "a: [1]",
    "a comment": "a: 1 # one",
    "a comment in a wrapped text": "a: b\n  #c",
    "a line of comment": "# one\na: 1",
    "an empty line": "a: 1\n\nb: 2",
    "spaces alone": "a: |\n  b\n    \n  c",
    "an anchor": "a: &x 1",
    "an alias": "a: &x 1\nb: *x",
    "a merge": "a: &x {b: 1}\nc:\n  <<: *x",
    "a tag": "a: !!str 8",
    "a folded block": "a: >\n  b\n  c",
    "a tab": "a: b\tc",
    "a carriage return": "a: b\r\nc: d\r",
    "a question mark": "? a\n: b",
    "a value on the next line": "a:\n  b",
    "a dash alone": "-\n  a",
    "two spaces behind a dash": "-   a",
    "two spaces behind a colon": "a:  b",
    "a space at the end": "a: b ",
    "a directive": "%YAML 1.1\n---\na: 1",
    "an end of document": "a: 1\n...",
    "a document of one scalar": "a",
    "a document on the line of its mark": "--- a",
    "an empty document": "a: 1\n---\n---\nb: 1",
    "a key with a space": "a b: 1",
    "a quoted key with a space": "'a: b': 1",
    "a folded escape": 'a: "b\\\n  c"',
    "an empty line in quotes": "a: 'b\n\n  c'",
    "half a pair of surrogates": 'a: "\\uD83D"',
    "a next line": "a: b\x85",
    "a separator of lines": "a: b\u2028",
    "a mark of the byte order": "a: \ufeffb",
    "a number that is not finite": "a: .inf",
    "a key that is not finite": ".nan: a",
    "a key that is null": "~: a",
    "a control character": "a: \x07",
    "the same key twice": "a: 1\nb: 2\na: 3",
    "two keys that mean the same": "yes: 1\ntrue: 2",
    "the same key twice in a list": "- a: 1\n  a: 1",
    "a colon in a value": "a: b: c",
    "a key that goes on": "a: b\n  c: d",
    "a list under a value": "a: b\n- c",
    "a line too far left": "a:\n    b: 1\n  c: 2",
    "a line left of all": "  a: 1\nb: 2",
    "a key beside a list": "- a\nb: 1",
    "a quote that does not end": "a: 'b\n  c",
    "a quote that ends too early": "a: 'b' c",
    "too many levels": "- " * 101 + "a",
    "too many levels of keys": "\n".join(" " * i + "a:" for i in range(101)),
}

READ_FAST: list[tuple[str, Any]] = [
    ("a:\nb: 1", {"a": None, "b": 1}),
    ("a:\n- b\n- c", {"a": ["b", "c"]}),
    ("a:\n    - b\n    - c", {"a": ["b", "c"]}),
    ("- - a\n  - b\n- - - c", [["a", "b"], [["c"]]]),
    ("- a: 1\n  b:\n  - c\n- d:\n    e: {}", [{"a": 1, "b": ["c"]}, {"d": {"e": {}}}]),
    ("- - a: 1\n    b: 2", [[{"a": 1, "b": 2}]]),
    ("a: {}\nb: []\nc:\n- {}\n- []", {"a": {}, "b": [], "c": [{}, []]}),
    ('f:k: 1\nk:{"name":"a"}:\n  .: {}', {"f:k": 1, 'k:{"name":"a"}': {".": {}}}),
    ("\"1\": a\n'2': b", {"1": "a", "2": "b"}),
    ("a: 'it''s'\nb: ''\nc: \"\"", {"a": "it's", "b": "", "c": ""}),
    ('a: "\\e[1m\\t\\"\\\\\\x41\\u00e9\\U0001F600\\_"', {"a": '\x1b[1m\t"\\Aé😀\xa0'}),
    ("a: b\n  c d\n   - e\nf: 1", {"a": "b c d - e", "f": 1}),
    ("- 12\n  apples\n- 3", ["12 apples", 3]),
    ("a: 'b: c\n  d''s'\ne: 1", {"a": "b: c d's", "e": 1}),
    ('a: "b\\n\n  c # d"', {"a": "b\n c # d"}),
    ("a: |\n  b\n   c: d\n\n  # e\nf: 1", {"a": "b\n c: d\n\n# e\n", "f": 1}),
    ("a: |-\n  b\n\nc: |+\n  d\n\n", {"a": "b", "c": "d\n\n\n"}),
    ("- |2-\n    a\n  b\n- c", ["  a\nb", "c"]),
    (
        "a: --flag=x\nb: :8080\nc: $(X)\nd: ä",
        {"a": "--flag=x", "b": ":8080", "c": "$(X)", "d": "ä"},
    ),
]


def agrees(text: str) -> bool:
    """Whether the fast way reads a text; then it must find what the other finds, in that order."""
    found = read_block_yaml(text)
    if found is None:
        return False
    # The text of values tells 1 from 1.0 and true, which are equal.
    assert repr(found) == repr(parse_yaml(text, "f"))
    return True


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_a_scalar_means_what_it_means_to_kubectl(text: str, value: Any) -> None:
    line = f"k: {text}".rstrip() + "\n"
    if text.startswith("!!"):
        assert read_block_yaml(line) is None
    else:
        assert agrees(line)
        assert repr(read_block_yaml(line)) == repr([{"k": value}])
        assert not text or agrees(f"- {text}\n")


@pytest.mark.parametrize(("text", "key"), KEYS)
def test_a_key_becomes_a_string(text: str, key: str) -> None:
    assert read_block_yaml(f"{text}: v\n") == [{key: "v"}]
    assert read_block_yaml(f"- - {text}:\n    - v\n") == [[[{key: ["v"]}]]]


@pytest.mark.parametrize("text", IN_OTHER_FORMS.values(), ids=IN_OTHER_FORMS.keys())
def test_other_forms_and_errors_are_left_to_the_other_way(text: str) -> None:
    assert read_block_yaml(text + "\n") is None


@pytest.mark.parametrize(("text", "value"), READ_FAST)
def test_what_kubectl_writes_is_read(text: str, value: Any) -> None:
    assert read_block_yaml(text + "\n") == [value]
    assert agrees(text + "\n")


def test_a_last_line_without_an_end_is_left_to_the_other_way() -> None:
    assert read_block_yaml("a: |\n  b") is None
    assert parse_documents(b"a: |\n  b", "f")[0].data == {"a": "b"}


def test_documents_are_separate() -> None:
    assert agrees("---\na: |\n  b\n---\n- c\n")
    assert read_block_yaml("---\na: |+\n  b\n\n---\na: 1\n") == [{"a": "b\n\n"}, {"a": 1}]


def test_equal_lines_do_not_share_what_can_change() -> None:
    (found,) = read_block_yaml("- a: {}\n- a: {}\n- []\n- []\n") or [None]
    assert found == [{"a": {}}, {"a": {}}, [], []]
    assert len({id(found[0]["a"]), id(found[1]["a"]), id(found[2]), id(found[3])}) == 4


def test_a_message_names_line_and_column_however_late_the_error() -> None:
    text = "".join(DUMP) + "metadata: {}\n"
    with pytest.raises(BadDataError) as refused:
        parse_documents(text.encode(), "f")
    expected = f'f: line {len(DUMP) + 1}, column 1: found the key "metadata" again'
    assert str(refused.value).startswith(expected)


def test_a_dump_of_pods_is_read_fast_and_means_what_its_json_means() -> None:
    assert agrees("".join(DUMP))
    assert read_block_yaml("".join(DUMP)) == [pods(18)]


def test_the_committed_dump_is_read_fast_as_yaml() -> None:
    text = (ROOT / "instances" / "kubernetes" / "cluster.json").read_text(encoding="utf-8")
    assert read_block_yaml(as_yaml(json.loads(text))) == [json.loads(text)]


def test_a_dump_is_read_without_pyyaml(tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    path.write_text("".join(DUMP), encoding="utf-8")
    code = (
        "import sys; from kantopt.schema.files import load_raw; load_raw([sys.argv[1]]); "
        "sys.exit('yaml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 0


ODD = [
    *(text for text, _ in SCALARS),
    *(text for text, _ in KEYS),
    *("a b", "x: y", "x:y", "# c", "a #b", "a#b", "'", '"', "'a'", '"a\\nb"', '"a\\', "'a''b'"),
    *("|", "|-", "|+", "|2", ">", "{}", "[]", "{a: 1}", "&x 1", "*x", "<<", "?", "? a", ":", "-"),
    *("--", "---", "...", "%", "@", "`", "ä", "\xa0", "\u2028", "\x85", "\ufeff", "\t", "\r"),
    *("\x07", "😀", "a ", "\\", "it's", "(x)", "$(X)", ",", "]", "a:", "::", "- b", '\\"', "\\e"),
]
LINE = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["", "", "", " ", "  ", "  ", "   ", "    "]),
    st.sampled_from(["", "", "", "", "- ", "- ", "- - ", "-", "-  "]),
    st.sampled_from(["", "", *(f"{key}: " for key in "abcdef"), "a:", "'a': ", "yes: ", "0x1: "]),
    st.sampled_from(["", "", "'", '"', "|"]),
    st.lists(st.sampled_from(ODD), max_size=2).map(" ".join),
)
WORDS = st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cc"]), max_size=40)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | WORDS | st.sampled_from(ODD),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=400)
@given(st.lists(LINE, min_size=1, max_size=5), st.sampled_from(["", "\n", "\n\n"]))
def test_random_lines_are_read_alike_or_not_at_all(lines: list[str], end: str) -> None:
    agrees("\n".join(lines) + end)


@settings(max_examples=200)
@given(DATA, st.sampled_from([20, 80, 10**6]), st.sampled_from([2, 4]), st.booleans())
def test_random_documents_are_read_alike_or_not_at_all(
    data: Any, width: int, indent: int, raw: bool
) -> None:
    layout: dict[str, Any] = {"width": width, "indent": indent, "allow_unicode": raw}
    agrees(yaml.dump(data, Dumper=yaml.CSafeDumper, default_flow_style=False, **layout))


@settings(max_examples=200)
@given(
    st.integers(0, len(DUMP) - 1),
    st.integers(1, 40),
    st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 3), st.sampled_from(["", "\n", " ", *ODD])),
        max_size=3,
    ),
)
def test_a_damaged_dump_is_read_alike_or_not_at_all(
    start: int, count: int, edits: list[tuple[float, int, str]]
) -> None:
    lines = DUMP[start : start + count]
    margin = min(len(line) - len(line.lstrip(" ")) for line in lines)
    text = "".join(line[margin:] for line in lines)
    for share, removed, added in edits:
        place = int(share * len(text))
        text = text[:place] + added + text[place + removed :]
    agrees(text)


NAMES = st.from_regex(r"[a-z]([-a-zA-Z0-9./]{0,20}[a-z])?", fullmatch=True)
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40)
    | st.lists(NAMES, min_size=1).map(" ".join)
    | st.lists(NAMES, min_size=1).map("\n".join)
)
OBJECTS = st.dictionaries(
    NAMES,
    st.recursive(
        VALUES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
        max_leaves=10,
    ),
    min_size=1,
)


@settings(max_examples=len(some(range(300))))
@given(OBJECTS)
def test_what_kubectl_would_write_is_read_fast(data: dict[str, Any]) -> None:
    assert read_block_yaml(as_yaml(data)) == [data]
    assert agrees(as_yaml(data))


def test_the_ways_of_reading_can_be_compared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)
    monkeypatch.setattr(sys, "argv", ["measure_reading.py", "--pods", "3"])
    runpy.run_path(f"{SCRIPTS}/measure_reading.py", run_name="__main__")
    rows = capsys.readouterr().out.splitlines()[1:]
    names = [re.split(r"  +", row)[0] for row in rows]
    assert names[2:] == ["kantopt, any YAML", "kantopt", "kantopt, JSON"]
