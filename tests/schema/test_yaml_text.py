"""YAML means to us what it means to kubectl."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from kantopt.errors import BadDataError
from kantopt.schema.yaml import text as yaml_text
from kantopt.schema.yaml.text import parse_yaml
from tests.yaml_scalars import KEYS, SCALARS


def refusal(text: str) -> str:
    with pytest.raises(BadDataError) as refused:
        parse_yaml(text, "f")
    return str(refused.value)


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_a_scalar_means_what_it_means_to_kubectl(text: str, value: Any) -> None:
    (document,) = parse_yaml(f"k: {text}\n", "f")
    assert document["k"] == value
    assert type(document["k"]) is type(value)


@pytest.mark.parametrize(("text", "key"), KEYS)
def test_a_key_becomes_a_string(text: str, key: str) -> None:
    assert parse_yaml(f"{text}: v\n", "f") == [{key: "v"}]


@pytest.mark.parametrize(
    ("text", "key"),
    [("1e39", ".inf"), ("-3.5e38", "-.inf"), ("1e-50", "0"), ("16777217.0", "1.6777216e+07")],
)
def test_a_key_that_is_a_float_has_32_bits(text: str, key: str) -> None:
    assert parse_yaml(f"{text}: v\n", "f") == [{key: "v"}]


@pytest.mark.parametrize("text", [".inf", "-.inf", ".nan"])
def test_a_key_that_is_no_finite_number_is_refused(text: str) -> None:
    assert "expected a finite number" in refusal(f"{text}: v")


@pytest.mark.parametrize("text", [".inf", "-.inf", "+.Inf", ".NaN", ".nan", ".INF"])
def test_a_number_that_is_not_finite_is_refused(text: str) -> None:
    assert "expected a finite number" in refusal(f"k: {text}")


def test_documents_are_separate_and_empty_ones_are_none() -> None:
    assert parse_yaml("a: 1\n---\n---\n# nothing\n---\nb: 2\n", "f") == [
        {"a": 1},
        None,
        None,
        {"b": 2},
    ]


def test_an_anchor_of_one_document_is_unknown_in_the_next() -> None:
    assert "an anchor &x before it" in refusal("a: &x 1\n---\nb: *x\n")


def test_an_explicit_key_wins_over_a_merged_one_and_is_no_duplicate() -> None:
    text = "base: &b {a: 1, c: 3}\nbefore: {a: 2, <<: *b}\nafter: {<<: *b, a: 2}\n"
    (document,) = parse_yaml(text, "f")
    assert document["before"] == document["after"] == {"a": 2, "c": 3}


def test_the_first_of_several_merged_mappings_wins() -> None:
    text = "x: &x {a: 1}\ny: &y {a: 2, b: 2}\nz: {<<: [*x, *y]}\n"
    assert parse_yaml(text, "f")[0]["z"] == {"a": 1, "b": 2}


def test_a_quoted_merge_key_is_a_key() -> None:
    assert parse_yaml("'<<': 1", "f") == [{"<<": 1}]


def test_merging_what_is_no_mapping_is_refused() -> None:
    assert "expected mappings to merge" in refusal("a: {<<: 3}")


def test_keys_that_become_the_same_string_are_duplicates() -> None:
    assert "line 2, column 1" in refusal("yes: a\ntrue: b\n")


def test_all_duplicate_keys_are_reported_with_their_first_line() -> None:
    message = refusal("a: 1\nb: 1\na: 2\nb: 2\n")
    assert 'line 3, column 1: found the key "a" again, expected it once, on line 1' in message
    assert 'line 4, column 1: found the key "b" again, expected it once, on line 2' in message


def test_a_null_key_is_refused() -> None:
    assert "an empty key (null)" in refusal("~: 1")


def test_an_alias_inside_its_anchor_is_refused() -> None:
    assert "expected no recursion" in refusal("a: &x [1, {b: *x}]")


def test_aliases_that_expand_without_end_are_refused_quickly() -> None:
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, 30)]
    assert "aliases that expand" in refusal("\n".join(lines))


def test_aliases_cannot_build_a_depth_that_plain_nesting_may_not_have() -> None:
    lines = ["l0: &l0 [x]"]
    lines += [f"l{i}: &l{i} {'[' * 20}*l{i - 1}{']' * 20}" for i in range(1, 10)]
    assert "levels of nesting" in refusal("\n".join(lines))


def test_an_alias_stands_for_its_value() -> None:
    assert parse_yaml("a: &x {b: [1, 2]}\nc: *x\n", "f")[0]["c"] == {"b": [1, 2]}


@pytest.mark.parametrize("depth", [101, 5000])
def test_deep_nesting_is_refused(depth: int) -> None:
    assert "more than 100 levels" in refusal("[" * depth + "]" * depth)


def test_a_hundred_levels_are_read() -> None:
    text = "[" * 100 + "]" * 100
    assert parse_yaml(text, "f") == [json.loads(text)]


@pytest.mark.parametrize("text", ["a: !!binary aGk=", "a: !!set {b}", "a: !local 1", "!x {a: 1}"])
def test_a_tag_that_json_has_no_type_for_is_refused(text: str) -> None:
    assert "expected no tag" in refusal(text)


@pytest.mark.parametrize("text", ["!!int x", "!!bool 3", "!!null 0", "!!int true", "!!float x"])
def test_a_value_that_contradicts_its_tag_is_refused(text: str) -> None:
    assert "expected what its tag" in refusal(f"a: {text}")


def test_a_syntax_error_names_line_and_column() -> None:
    assert refusal("a: 1\nb: c: d\n").startswith("f: line 2, column 5: found broken YAML")


def test_the_parser_without_libyaml_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: &x [1, yes, 0x10]\nb: {<<: {c: 1}, d: *x}\n---\ne: |\n  f\n"
    fast = parse_yaml(text, "f")
    monkeypatch.setattr(yaml_text, "_LOADER", yaml.SafeLoader)
    assert parse_yaml(text, "f") == fast
    assert "control character 0x07" in refusal("a: ä\x07")
    assert "line 3" in refusal("a: 1\n\nb: *c\n")


def test_a_tab_that_indents_is_named() -> None:
    assert "spaces, not tabs" in refusal("ä: 1\na:\n\t- b\n")


def test_the_control_character_is_found_behind_wide_ones() -> None:
    assert refusal("a: ääää\nb: \x07\n").startswith("f: line 2: found the control character 0x07")
