"""Full clusters for important gangs: sound, the same for a seed, and nobody has room yet."""

from __future__ import annotations

import pytest

from scripts.bench.victims import KINDS, drawn
from tests.bench.drawn import sound


@pytest.mark.parametrize("kind", KINDS)
def test_a_cluster_is_sound_full_and_somebody_waits(kind: str) -> None:
    instance, waits, free = sound(drawn, kind)
    assert 0 <= free <= 8_000 < waits
    elastic = [j for j in instance.jobs if any(role.min_count < role.count for role in j.roles)]
    assert bool(elastic) == (kind != "racks")
