"""Kueue's topologyAssignment: what is compressed is the same when it is read again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kantopt.render.topology_assignment import topology_assignment
from tests.render.expanded import expanded

HOSTNAME = "kubernetes.io/hostname"
NAMES = st.one_of(
    st.text(min_size=1, max_size=8),
    st.from_regex(r"\A(gpu|gp|g)-0{0,3}[0-9]{1,3}(\.rack)?\Z"),
    st.from_regex(r"\Aa{1,4}\Z"),
)


@given(st.dictionaries(NAMES, st.integers(1, 9), min_size=1, max_size=12))
def test_what_is_compressed_reads_as_what_it_was(pods: dict[str, int]) -> None:
    made = topology_assignment(HOSTNAME, pods, "v1beta2")
    assert made["levels"] == [HOSTNAME]
    assert expanded(made) == pods
    plain = topology_assignment(HOSTNAME, pods, "v1beta1")
    assert {item["values"][0]: item["count"] for item in plain["domains"]} == pods


@given(st.dictionaries(NAMES, st.just(2), min_size=2, max_size=12))
def test_what_all_names_share_is_said_once(pods: dict[str, int]) -> None:
    (part,) = topology_assignment(HOSTNAME, pods, "v1beta2")["slices"]
    assert part["podCounts"] == {"universal": 2}
    roots = part["valuesPerLevel"][0]["individual"]["roots"]
    assert all(roots)
    if min(map(len, roots)) > 1:
        assert len({root[0] for root in roots}) > 1
        assert len({root[-1] for root in roots}) > 1


def test_names_that_share_both_ends_are_written_as_their_middle() -> None:
    pods = {"gpu-001.rack": 2, "gpu-002.rack": 2, "gpu-012.rack": 1}
    (part,) = topology_assignment(HOSTNAME, pods, "v1beta2")["slices"]
    assert part == {
        "domainCount": 3,
        "valuesPerLevel": [
            {"individual": {"prefix": "gpu-0", "suffix": ".rack", "roots": ["01", "02", "12"]}}
        ],
        "podCounts": {"individual": [2, 2, 1]},
    }


def test_one_node_is_one_value() -> None:
    (part,) = topology_assignment(HOSTNAME, {"n1": 3}, "v1beta2")["slices"]
    assert part["valuesPerLevel"] == [{"universal": "n1"}]
    assert part["podCounts"] == {"universal": 3}
