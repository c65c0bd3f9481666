"""Selectors of devices: what is read of the expression language, and how it is meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantopt.formats.kubernetes.devices.cel import LONGEST, Selector
from kantopt.formats.kubernetes.devices.cel_values import CelError, Facts, Quantity, Unread
from kantopt.schema.quantity import parse_quantity

GPU = Facts(
    driver="gpu.example.com",
    attributes={
        ("gpu.example.com", "model"): "A100-SXM4",
        ("gpu.example.com", "index"): 3,
        ("gpu.example.com", "mig"): False,
        ("gpu.example.com", "version"): Unread(),
        ("other.org", "odd-name"): "x",
    },
    capacity={("gpu.example.com", "memory"): Quantity(parse_quantity("40Gi"))},
)
MODEL = 'device.attributes["gpu.example.com"].model'
INDEX = "device.attributes['gpu.example.com'].index"
MIG = 'device.attributes["gpu.example.com"].mig'
MEMORY = 'device.capacity["gpu.example.com"].memory'
MISSING = 'device.attributes["gpu.example.com"].missing'


def answer(expression: str) -> bool | str:
    """True, false, ``unread`` if it is not of the part that is read, ``fails`` if it fails."""
    try:
        selector = Selector(expression)
    except CelError:
        return "unread"
    try:
        return selector.accepts(GPU)
    except CelError:
        return "fails"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("true", True),
        ("!true", False),
        ("!!true", True),
        ('device.driver == "gpu.example.com"', True),
        ("device.driver != 'gpu.example.com'", False),
        ('device.driver == "\\x67pu"', "unread"),
        ('"a\\"b" == \'a"b\'', True),
        (f"{MODEL} == 'A100-SXM4'", True),
        ('device.attributes["other.org"]["odd-name"] == "x"', True),
        (f"{MODEL}.startsWith('A100') && {MODEL}.endsWith('SXM4')", True),
        (f"{MODEL}.contains('H100')", False),
        (f"{INDEX}.contains('H100')", "fails"),
        (f"{INDEX} >= 3 && {INDEX} < 0x4", True),
        (f"{INDEX} > -1", True),
        (f"{INDEX} < 9223372036854775808", "unread"),
        (f"{INDEX} == '3'", False),
        (f"{INDEX} != '3'", True),
        (f"{INDEX} < '4'", "fails"),
        (f"{MIG} == 0", False),
        (f"{MIG} == false", True),
        (f"!{MIG}", True),
        (f"!{INDEX}", "fails"),
        (MODEL, "fails"),
        (f"{MODEL} in ['H100', 'A100-SXM4']", True),
        (f"{MODEL} in ['H100']", False),
        (f"{MISSING} in ['H100']", "fails"),
        ('"model" in device.attributes["gpu.example.com"]', True),
        ('"model" in device.attributes["nobody.org"]', False),
        ('"memory" in device.capacity["gpu.example.com"]', True),
        (f"has({MODEL})", True),
        (f"has({MISSING})", False),
        (f"has({MISSING}) && {MISSING} == 1", False),
        (f"{MISSING} == 1", "fails"),
        (f"{MISSING} == 1 && false", False),
        (f"false && {MISSING} == 1", False),
        (f"true && {MISSING} == 1", "fails"),
        (f"{MISSING} == 1 || true", True),
        (f"{MISSING} == 1 || false", "fails"),
        (f"{INDEX} && false", False),
        (f"{INDEX} || false", "fails"),
        ("true || false && false", True),
        ("(true || false) && false", False),
        ("!(true && false)", True),
        ("1 == 1 && 2 != 1 || false", True),
        (f'{MEMORY} == quantity("40960Mi")', True),
        (f'{MEMORY}.compareTo(quantity("40Gi")) >= 0', True),
        (f'{MEMORY}.compareTo(quantity("80Gi")) >= 0', False),
        (f'{MEMORY}.isGreaterThan(quantity("39.5Gi"))', True),
        (f'{MEMORY}.isLessThan(quantity("40Gi"))', False),
        (f'{MEMORY} > quantity("1")', "fails"),
        (f'{MEMORY} == "40Gi"', "fails"),
        (f"{MEMORY}.isLessThan(5)", "fails"),
        ('quantity("lots") == quantity("1")', "unread"),
        ('device.attributes["gpu.example.com"].version == "1.0"', "fails"),
        ('has(device.attributes["gpu.example.com"].version)', True),
        (f"\n {MODEL}\t==\r\n'A100-SXM4'", True),
        ("", "unread"),
        ("true true", "unread"),
        ("(true", "unread"),
        ("true)", "unread"),
        ("device", "unread"),
        ("device.attributes", "unread"),
        ('device.attributes["d"]', "unread"),
        ("device.name == 'x'", "unread"),
        ("1.5 < 2.0", "unread"),
        ("1u == 1u", "unread"),
        ("r'a' == 'a'", "unread"),
        ("'''a''' == 'a'", "unread"),
        ("1 + 1 == 2", "unread"),
        ("1 < 2 ? true : false", "unread"),
        ("true == true == true", "unread"),
        (f"{MODEL}.matches('A.*')", "unread"),
        (f"{MODEL}.lowerAscii() == 'a'", "unread"),
        (f"{MODEL} in []", "unread"),
        ("cel.bind(x, true, x)", "unread"),
    ],
)
def test_an_expression_means_what_it_means_to_kubernetes(
    expression: str, expected: bool | str
) -> None:
    assert answer(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 5000 + "true" + ")" * 5000,
        "!" * 9999 + "true",
        "'a'" + ".contains('a')" * 700,
        "1" + " == 1" * 2000,
        "true && " * 2000 + "true",
        "'" + "a" * LONGEST,
        "[" * 9999,
        "'" * 9999,
        "'\\" * 5000,
        "9" * 9999,
    ],
)
def test_a_deep_or_long_expression_is_answered_at_once(expression: str) -> None:
    assert answer(expression) == "unread"


def test_a_long_chain_that_may_be_read_is_read() -> None:
    assert answer(" && ".join(["true"] * 1000)) is True
    assert answer(" || ".join(["false"] * 1000)) is False


PARTS = ["true", "false", MODEL, INDEX, MISSING, MEMORY, "has(", "quantity('1')", "'a'", "3"]
SIGNS = ["&&", "||", "!", "==", "<", "in", "[", "]", "(", ")", ".", ",", ".contains(", "-", "\\"]


@given(st.lists(st.sampled_from(PARTS + SIGNS), max_size=12).map(" ".join))
def test_whatever_is_written_is_answered_or_not_read(expression: str) -> None:
    assert answer(expression) in (True, False, "unread", "fails")


@given(st.text(max_size=60))
def test_any_text_is_answered_or_not_read(expression: str) -> None:
    assert answer(expression) in (True, False, "unread", "fails")
