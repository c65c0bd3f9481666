"""What is written reads back as the same document."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kantopt.schema.base import Part
from kantopt.schema.dump import canonical_digest, dump_data, dump_json, dump_yaml
from kantopt.schema.files import parse_documents
from kantopt.schema.jobs import JobList
from kantopt.schema.model import Model
from kantopt.schema.raw import RawDocument
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.validation import document_class, validate


def document(kind: str, **data: Any) -> Part:
    raw = RawDocument("f", 0, {"apiVersion": "kantopt/v1alpha1", "kind": kind, **data})
    return validate(raw, document_class(raw))


def reread(text: str) -> Part:
    (raw,) = parse_documents(text.encode(), "f")
    return validate(raw, document_class(raw))


CLUSTER = document(
    "ClusterSnapshot",
    metadata={"capturedAt": "2026-09-01T03:00:00Z", "name": "2026-09-01"},
    nodes=[
        {
            "name": "010",
            "labels": {"y": "n", "1e3": "yes", "x": "0x10", "e": "", "~": "null", "c": "a: b #"},
            "allocatable": {"cpu": "500m", "pods": 110, "memory": "1_000"[:1]},
            "devices": [{"class": "gpu", "capacity": {"gpu": 1}}],
        }
    ],
)
MODEL = document(
    "Model",
    rules={"quota": "off"},
    objectives=["moves", {"unplaced": {"by": "all"}}, {"each_priority": ["moves", "evictions"]}],
)


@pytest.mark.parametrize("part", [CLUSTER, MODEL], ids=["snapshot", "model"])
def test_yaml_and_json_read_back_as_the_same_document(part: Part) -> None:
    assert reread(dump_yaml(part)) == part
    assert reread(dump_json(part)) == part


def test_version_and_kind_are_written_although_all_else_is_default() -> None:
    assert dump_data(document("JobList")) == {"apiVersion": "kantopt/v1alpha1", "kind": "JobList"}


def test_names_are_those_of_the_schema_and_keys_keep_its_order() -> None:
    data = dump_data(CLUSTER)
    assert list(data) == ["apiVersion", "kind", "metadata", "nodes"]
    assert data["nodes"][0]["devices"] == [{"class": "gpu", "capacity": {"gpu": 1}}]
    assert dump_data(MODEL)["objectives"] == [
        {"moves": {}},
        {"unplaced": {"by": "all"}},
        {"each_priority": [{"moves": {}}, {"evictions": {}}]},
    ]


def test_yaml_is_in_block_style_without_aliases_and_switches_in_quotes() -> None:
    shared = {"cpu": 1}
    pods = [{"name": str(i), "count": 1, "requests": shared} for i in range(2)]
    text = dump_yaml(document("JobList", jobs=[{"name": "a", "podSets": pods}]))
    assert "&" not in text
    assert "{" not in text
    assert "quota: 'off'" in dump_yaml(MODEL)


def test_json_is_indented_and_keeps_letters() -> None:
    text = dump_json(document("JobList", metadata={"name": "köln"}))
    assert text.startswith('{\n  "apiVersion": "kantopt/v1alpha1",\n  "kind": "JobList",\n')
    assert "köln" in text


def test_the_digest_ignores_how_a_document_is_written() -> None:
    one = document("JobList", jobs=[{"name": "a", "podSets": [{"count": 1}]}])
    other = document(
        "JobList", metadata={}, jobs=[{"podSets": [{"minCount": None, "count": 1}], "name": "a"}]
    )
    assert canonical_digest(one) == canonical_digest(other)
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", canonical_digest(one))


def test_the_digest_sees_every_change_and_the_order_of_documents() -> None:
    jobs = [{"name": "a", "podSets": [{"count": count}]} for count in (1, 2)]
    one, two = (document("JobList", jobs=[job]) for job in jobs)
    digests = {
        canonical_digest(*documents) for documents in ([], [one], [two], [one, two], [two, one])
    }
    assert len(digests) == 5


def test_the_digest_stays_what_it_was() -> None:
    # Plans carry digests: they must not change from one version to the next.
    text = json.dumps(
        [{"apiVersion": "kantopt/v1alpha1", "kind": "JobList"}], separators=(",", ":")
    )
    import hashlib

    expected = f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    assert canonical_digest(document("JobList")) == expected


@settings(max_examples=200)
@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        st.one_of(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
            st.from_regex(r"[-+.0-9_exoyn:~]{1,6}", fullmatch=True),
        ),
        max_size=4,
    )
)
def test_any_string_survives_yaml_and_json(labels: dict[str, str]) -> None:
    part = document("ClusterSnapshot", nodes=[{"name": "a", "labels": labels}])
    assert reread(dump_json(part)) == part
    assert reread(dump_yaml(part)) == part


def test_types_of_the_examples_are_what_they_seem() -> None:
    assert isinstance(CLUSTER, ClusterSnapshot)
    assert isinstance(MODEL, Model)
    assert isinstance(document("JobList"), JobList)
