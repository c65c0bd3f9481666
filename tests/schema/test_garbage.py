"""While documents grow nobody looks for garbage, and afterwards all is as it was."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from kantopt.errors import BadDataError
from kantopt.schema.files import parse_documents
from kantopt.schema.garbage import kept


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    enabled = gc.isenabled()
    yield
    (gc.enable if enabled else gc.disable)()


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
