"""Where pods may go, as objects of each system."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.formats.exports import EXPORTS, ExportName
from kantopt.schema.base import Expression
from kantopt.schema.jobs import NodeSelectorTerm
from tests.formats.test_written import JOB, SYSTEMS, read, snapshot_of


def _field(operator: Any, *values: str) -> Expression:
    return Expression(key="metadata.name", operator=operator, values=values)


@pytest.mark.parametrize("system", SYSTEMS)
def test_nodes_of_several_names_are_written_one_name_at_a_time(system: ExportName) -> None:
    """Kubernetes compares a field with one value; a term with several it refuses."""
    zone = (Expression(key="zone", operator="Exists"),)
    names = (_field("In", "a", "b"), _field("NotIn", "c", "d"))
    term = NodeSelectorTerm(match_expressions=zone, match_fields=names)
    role = JOB.pod_sets[0].model_copy(update={"node_affinity": (term,)})
    base = snapshot_of(nodes=[{"name": "n", "allocatable": {"cpu": 4, "pods": 10}}])
    job = JOB.model_copy(update={"pod_sets": (role,)})
    _, pending = read(system, EXPORTS[system].write(base, [job])[0], [])
    found = pending.jobs[0].pod_sets[0].node_affinity
    never = (_field("NotIn", "c"), _field("NotIn", "d"))
    assert [item.match_expressions for item in found] == [zone, zone]
    assert [item.match_fields for item in found] == [
        (_field("In", "a"), *never),
        (_field("In", "b"), *never),
    ]
