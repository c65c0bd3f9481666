"""What a simulation is asked: since when what is there runs and waits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kantopt.simulate.asked import read_asked

DOCUMENTS = """\
apiVersion: kantopt/v1alpha1
kind: ClusterSnapshot
metadata: {name: small%s}
nodes: [{name: n1, allocatable: {cpu: 4}}]
jobs:
- name: old
  startTime: "2026-09-01T00:00:00Z"
  podSets: [{count: 1, requests: {cpu: 1}, assignments: [{node: n1}]}]
- name: waits
  creationTime: "2026-09-02T02:00:00+02:00"
  podSets: [{count: 1, requests: {cpu: 1}}]
---
apiVersion: kantopt/v1alpha1
kind: Trace
jobs:
- {name: a, arrival: 0s, duration: 10s, podSets: [{count: 1, requests: {cpu: 4}}]}
"""
NEWEST = "2026-09-02T00:00:00Z"


@pytest.mark.parametrize("taken", [None, "2026-09-03T00:00:00Z"])
def test_a_snapshot_that_does_not_say_when_it_was_taken_counts_as_of_its_newest_time(
    taken: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "asked.yaml"
    file.write_text(DOCUMENTS % ("" if taken is None else f', capturedAt: "{taken}"'))
    question = read_asked([str(file)], ["fifo"], None).question
    assert question.snapshot.metadata.captured_at == (taken or NEWEST)
    said = (
        f"the snapshot has no capturedAt: the trace begins at {NEWEST}, the newest time of its jobs"
    )
    assert [text for text in question.notes if "capturedAt" in text] == ([] if taken else [said])


def test_a_snapshot_without_any_time_begins_whenever(tmp_path: Path) -> None:
    file = tmp_path / "asked.yaml"
    file.write_text(re.sub(r".*(start|creation)Time.*\n", "", DOCUMENTS % ""))
    question = read_asked([str(file)], ["fifo"], None).question
    assert (question.snapshot.metadata.captured_at, question.notes) == (None, ())
