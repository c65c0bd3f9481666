"""Arithmetic of parts and rows against trying all ways."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from kantopt.cp.relaxed.parts import fewest_regions, least_parts, spared
from kantopt.cp.relaxed.receiving import largest
from kantopt.verify.witness.capacity import steps


def cuts(width: int, regions: int, most: int) -> Iterator[tuple[int, ...]]:
    """Every way to cut a width into so many parts, empty ones included."""
    for parts in product(range(most + 1), repeat=regions):
        if sum(parts) == width:
            yield parts


@pytest.mark.parametrize("step", range(1, 7))
def test_least_parts_are_those_of_the_best_cut(step: int) -> None:
    for width, regions, most in product(range(13), range(1, 5), range(1, 6)):
        sums = [sum(p // step for p in parts) for parts in cuts(width, regions, most)]
        if sums:
            assert least_parts(width, regions, most, step) == min(sums), (width, regions, most)


@pytest.mark.parametrize("step", range(2, 7))
def test_no_number_of_regions_more_spares_more_than_is_said(step: int) -> None:
    for width, regions, most in product(range(13), range(1, 4), range(1, 6)):
        least = least_parts(width, regions, most, step)
        slope = spared(width, regions, most, step)
        for more in range(1, 14):
            assert least - slope * more <= least_parts(width, regions + more, most, step)


def test_fewest_regions_take_the_roomiest_first() -> None:
    assert fewest_regions(5, [1, 3, 2]) == 2
    assert fewest_regions(0, [1]) == 0
    assert fewest_regions(9, [1, 3]) == 2, "all of them where they do not hold it"


def test_largest_vectors_cover_all_others() -> None:
    vectors = [(1, 5), (2, 2), (1, 4), (3, 1), (2, 2)]
    assert sorted(largest(vectors)) == [(1, 5), (2, 2), (3, 1)]


def test_steps_are_sizes_or_parts_of_the_largest_bin() -> None:
    assert steps([2, 4, 4, 9], [8]) == [1, 2, 4]
    assert steps(range(1, 40), [100]) == [1, 21, 26, 34, 51]
