"""Names in natural order: numbers count by their value."""

from __future__ import annotations

import random

from kantopt.schema.natural import natural


def test_numbers_count_by_their_value() -> None:
    names = ["z0", "z1", "z2", "z9", "z10", "z10-a2", "z10-a10", "z11", "za"]
    mixed = random.Random(1).sample(names, len(names))
    assert sorted(mixed, key=natural) == names


def test_names_that_differ_in_zeros_alone_have_an_order() -> None:
    assert sorted(["z1", "z001", "z01"], key=natural) == ["z001", "z01", "z1"]
    assert len({natural(name) for name in ("z1", "z01")}) == 2


def test_numbers_may_have_any_number_of_digits() -> None:
    long = "1" + "0" * 5000
    assert sorted([f"n{long}", "n2", ""], key=natural) == ["", "n2", f"n{long}"]
