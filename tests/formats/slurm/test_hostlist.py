"""Hostlists: into names and back."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kantopt.schema.hostlist import compress_hostlist, expand_hostlist


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("lx7", ["lx7"]),
        ("lx[8-11]", ["lx8", "lx9", "lx10", "lx11"]),
        ("lx[08-11]", ["lx08", "lx09", "lx10", "lx11"]),
        ("lx[08-09,020]", ["lx08", "lx09", "lx020"]),
        ("a[1-2]b[3-4]", ["a1b3", "a1b4", "a2b3", "a2b4"]),
        ("n[1-2]-ib,login", ["n1-ib", "n2-ib", "login"]),
        ("n[3,5]", ["n3", "n5"]),
        ("n5, n4", ["n5", "n4"]),
    ],
)
def test_lists_are_read(text: str, names: list[str]) -> None:
    assert expand_hostlist(text) == names


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["lx17", "lx10", "lx11", "lx12"], "lx[10-12,17]"),
        (["lx9", "lx10", "lx11"], "lx[9-11]"),
        (["lx09", "lx10", "lx9"], "lx[9,09-10]"),
        (["a1b3", "a1b4", "a2b3"], "a1b[3-4],a2b3"),
        (["login", "n1-ib", "n2-ib", "login"], "login,n[1-2]-ib"),
        ([], ""),
    ],
)
def test_lists_are_written(names: list[str], text: str) -> None:
    assert compress_hostlist(names) == text


@pytest.mark.parametrize(
    "text", ["", "a[1-2", "a]1[", "a[[1]]", "a[2-1]", "a[x]", "a[]", "a,,b", "a[1-9999999]"]
)
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"name|bracket|range"):
        expand_hostlist(text)


NAMES = st.from_regex(r"\A[a-z]{1,2}[0-9]{0,3}(-[a-z]?[0-9]{0,2})?\Z")


@settings(suppress_health_check=list(HealthCheck))
@given(st.sets(NAMES, min_size=1, max_size=40))
def test_what_is_written_is_read_again(names: set[str]) -> None:
    read = expand_hostlist(compress_hostlist(names))
    assert len(read) == len(names)
    assert set(read) == names
