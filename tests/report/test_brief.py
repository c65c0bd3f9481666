"""What a screen has room for."""

from __future__ import annotations

import pytest

from kantopt.report.blocks import Listing
from kantopt.report.brief import MOST, warnings_blocks


@pytest.mark.parametrize("more", [0, 1, 5])
def test_of_many_jobs_that_end_for_good_the_first_are_told_and_how_many_more(more: int) -> None:
    first = "job a/b is required and was not placed (0 of 1 pods placed)"
    ends = [f"job a/j{i}: 1 of its pods goes: the Job fails" for i in range(MOST + more)]
    texts = [first, *ends, "nothing else"]
    ((block,), (whole,)) = (tuple(warnings_blocks(texts, wide=wide)) for wide in (False, True))
    assert isinstance(block, Listing)
    assert isinstance(whole, Listing)
    assert whole.lines == tuple(texts)
    if more <= 1:
        assert block.lines == tuple(texts)
    else:
        line = f"and {more} more such jobs (all with -o wide)"
        assert block.lines == (first, *ends[:MOST], line, "nothing else")
