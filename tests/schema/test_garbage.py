"""While documents grow nobody looks for garbage, and afterwards all is as it was."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from kantopt.errors import BadDataError
from kantopt.schema.files import parse_documents
from kantopt.schema.garbage import for_good, kept


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    enabled = gc.isenabled()
    yield
    (gc.enable if enabled else gc.disable)()
    gc.unfreeze()


def test_nothing_is_collected_meanwhile() -> None:
    gc.enable()
    with kept():
        assert not gc.isenabled()
        with kept():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_who_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    with kept():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_it_goes_on_after_an_error() -> None:
    gc.enable()
    with pytest.raises(BadDataError):
        parse_documents(b"a: [", "f")
    assert gc.isenabled()


@pytest.mark.parametrize("ends", [False, True])
def test_what_is_kept_is_looked_at_again_unless_the_command_ends_with_its_answer(
    ends: bool,
) -> None:
    gc.enable()
    gc.unfreeze()
    with for_good() if ends else nullcontext(), kept():
        pass
    assert (gc.get_freeze_count() > 0) == ends
