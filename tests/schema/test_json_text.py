"""JSON is read strictly, and what is wrong is said with its place."""

from __future__ import annotations

import pytest

from kantopt.errors import BadDataError
from kantopt.schema.json_text import parse_json


def refusal(text: str) -> str:
    with pytest.raises(BadDataError) as refused:
        parse_json(text, "f")
    return str(refused.value)


def test_values_follow_one_another() -> None:
    assert parse_json('{"a": 1}\n\n{"b": [true, null, "yes"]}\n', "f") == [
        {"a": 1},
        {"b": [True, None, "yes"]},
    ]


def test_every_duplicate_key_is_reported_with_its_path() -> None:
    message = refusal('{"a": [{"b": 1, "b": 2}], "nvidia.com/gpu": {"c": 1, "c": 1, "c": 1}}')
    assert 'f: a[0]: found the key "b" twice' in message
    assert 'f: ["nvidia.com/gpu"]: found the key "c" twice' in message


def test_duplicates_in_a_later_document_name_it() -> None:
    assert 'f#2: found the key "a" twice' in refusal('{} {"a": 1, "a": 2}')


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_have_are_refused(number: str) -> None:
    assert refusal(f'{{"a": {number}}}') == f"f: a: found {number}, expected a finite number"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a" 1}', 'line 1, column 6: found "1", expected a colon after the key'),
        ('{"a": 1 "b": 2}', 'line 1, column 9: found "b", expected a comma'),
        ('{"a": True}', 'line 1, column 7: found "True", expected a value'),
        ("{a: 1}", 'line 1, column 2: found "a", expected a key in double quotes'),
        ('{"a": [1, 2,]}', "line 1, column 12: found a comma after the last entry"),
        ('{"a": 1,\n}', "line 1, column 8: found a comma after the last entry"),
        ('{"a": "b', "found a string that does not end"),
        ('{"a": "\t"}', "found a control character in a string"),
        ('{"a": "\\q"}', "found broken JSON"),
        ('{"a": 1} x', 'line 1, column 10: found "x", expected a value'),
        ('{"a":', "line 1, column 6: found the end of the file, expected a value"),
    ],
)
def test_a_syntax_error_says_what_stands_where(text: str, message: str) -> None:
    assert message in refusal(text)


def test_half_a_surrogate_pair_is_refused_and_a_whole_one_is_read() -> None:
    assert "f: a: found a string with half" in refusal('{"a": "\\ud83d"}')
    assert "found a key with half" in refusal('{"\\uDe00": 1}')
    assert parse_json('{"a": "\\ud83d\\ude00"}', "f") == [{"a": "\U0001f600"}]


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    assert "thousands of digits" in refusal('{"a": ' + "1" * 10_000 + "}")


def test_bottomless_nesting_is_refused() -> None:
    assert "nested too deeply" in refusal('{"a":' * 100_000)
