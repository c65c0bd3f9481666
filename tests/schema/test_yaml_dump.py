"""YAML that is written: our reader finds the same data, and PyYAML would lay it out so."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kantopt.schema.yaml import dump as yaml_dump
from kantopt.schema.yaml.dump import yaml_text
from kantopt.schema.yaml.text import parse_yaml
from tests.yaml_scalars import SCALARS

KNOWN = st.sampled_from([text for text, _ in SCALARS])
LINES = st.from_regex(r"[ -~]{0,12}", fullmatch=True) | KNOWN
"""What stands on a line as it is, and what means something else without quotes."""
OTHERS = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(-1e9, 1e9)


def _trees(texts: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    deep: st.SearchStrategy[Any] = st.recursive(
        texts | OTHERS,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
        max_leaves=12,
    )
    return st.dictionaries(texts, deep, max_size=4)


@settings(max_examples=200)
@given(_trees(LINES | st.text() | st.text(min_size=118, max_size=130)), st.booleans())
def test_what_is_written_is_read_as_the_same(data: dict[str, Any], ascii_only: bool) -> None:
    text = yaml_text(data, ascii_only=ascii_only)
    assert parse_yaml(text, "f") == [data]
    assert text.isascii() or not ascii_only


@settings(max_examples=200)
@given(_trees(LINES))
def test_pyyaml_lays_it_out_the_same_way(data: dict[str, Any]) -> None:
    class Dumper(yaml_dump._Dumper):
        def ignore_aliases(self, _: Any) -> bool:
            return True

    whole = yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=10**6)
    assert yaml_text(data) == whole


def test_a_plain_word_is_not_asked_of_pyyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan of 100,000 jobs has millions of them."""
    asked: list[Any] = []
    monkeypatch.setattr(yaml_dump, "_scalar", lambda item, **_: asked.append(item) or "x")
    yaml_text({"pods": [{"name": f"job-{k}", "node": "gpu-7", "count": 1} for k in range(99)]})
    yaml_text({"said": ["it waits: 3 of 4"] * 99, "no": True})
    assert asked == ["it waits: 3 of 4", "no", True]
