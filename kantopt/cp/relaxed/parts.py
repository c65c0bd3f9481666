"""Arithmetic of things that are cut into parts and put into regions."""

from __future__ import annotations

from kantopt.verify.bounds.fewest import fewest_of


def least_parts(width: int, regions: int, largest: int, step: int) -> int:
    """Least sum of ``part // step`` over the parts of a width in so many regions.

    Each part is at most ``largest``. Parts just short of a whole number of steps hold the most:
    each region holds ``step - 1`` for nothing and ``step`` more for each one more, but the last
    one is cut short by ``largest``. Where the regions cannot hold the width at all the sum is
    what full regions have.
    """
    whole, rest = divmod(largest, step)
    missing = width - regions * min(largest, step - 1)
    if missing <= 0 or whole == 0:
        return 0
    long = regions * (whole - 1)
    if missing <= long * step:
        return -(-missing // step)
    return min(regions * whole, long + -(-(missing - long * step) // (rest + 1)))


def spared(width: int, regions: int, largest: int, step: int) -> int:
    """Most of :func:`least_parts` that each region more spares, rounded up; steps above 1."""
    least, most, more = least_parts(width, regions, largest, step), 0, 0
    while least_parts(width, regions + more, largest, step):
        more += 1
        saved = least - least_parts(width, regions + more, largest, step)
        most = max(most, -(-saved // more))
    return most


def fewest_regions(width: int, rooms: list[int]) -> int:
    """Fewest regions, the roomiest first, that hold a width; all of them if they do not."""
    found = fewest_of(rooms, width)
    return len(rooms) if found is None else found
