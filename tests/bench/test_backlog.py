"""Clusters with four times as much to do as there is room for: sound, and the same for a seed."""

from __future__ import annotations

import pytest

from scripts.bench.backlog import KINDS, drawn
from tests.bench.drawn import sound


@pytest.mark.parametrize("kind", KINDS)
def test_a_cluster_is_sound_and_more_waits_than_there_is_room_for(kind: str) -> None:
    instance, waits, free = sound(drawn, kind)
    assert 4 * free <= waits
    assert all(podset.allowed for podset in instance.podsets)
    assert len({job.priority for job in instance.jobs}) == (3 if kind == "priorities" else 1)
