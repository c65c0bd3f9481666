"""Whatever stands in an object of a batch system, the import reads it or says what is wrong."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from kantopt.errors import BadDataError
from kantopt.formats.kubernetes.dump import import_kubernetes
from kantopt.schema.files import load_raw
from tests.formats.test_system_fixtures import FOLDER

STRANGE: list[Any] = [
    *(None, "", 0, -1, 10**30, 1.5, True, "x", "a" * 300, "1e400", "-5", "9" * 30),
    *([], [None], [{}], {}, {"a": {"b": 1}}),
    *("2026-99-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"),
]
PLAIN = ("Node", "Pod")
CASES = [
    "koordinator/reservation-owners",
    "kai/being-bound",
    "kai/department",
    "kueue/cohort-tree-of-flavors",
    "volcano/queues",
]


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places below a value."""
    keys = value if isinstance(value, dict) else range(len(value) if isinstance(value, list) else 0)
    for key in keys:
        yield (*path, key)
        yield from paths(value[key], (*path, key))


@pytest.mark.parametrize("case", CASES)
def test_what_is_strange_in_a_field_is_read_or_told(case: str) -> None:
    objects = [raw.data for raw in load_raw([str(FOLDER / f"{case}.yaml")])]
    chosen = [i for i, item in enumerate(objects) if item["kind"] not in PLAIN]
    draw = random.Random(case)
    told = 0
    for _ in range(150):
        broken = copy.deepcopy(objects)
        i = draw.choice(chosen)
        *above, last = draw.choice([path for path in paths(broken[i]) if path[0] != "kind"])
        place: Any = broken[i]
        for key in above:
            place = place[key]
        place[last] = copy.deepcopy(draw.choice(STRANGE))
        try:
            import_kubernetes(broken, file="list")
        except BadDataError:
            told += 1
    assert 15 < told < 135


def test_a_refusal_by_the_api_server_is_no_empty_cluster() -> None:
    status = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": "Forbidden"}
    with pytest.raises(BadDataError, match='message: found "Forbidden"'):
        import_kubernetes([status], file="dump.json")
