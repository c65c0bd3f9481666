"""Beside the real kube-scheduler: which pending pod may go to which node of random dumps."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.kube_verdicts import FILE, Tally, tally

ALLOWED_WRONGLY: dict[str, int] = {}
"""Plugins that refuse what we allow, with the most pairs of each."""

REFUSED_WRONGLY: dict[str, int] = {}
"""Rules of ours that refuse what the scheduler allows, with the most pairs of each."""

LEFT_OUT = {"nominated": 1, "claims": 29}
"""Pods that are left out, by what they ask for: nothing of them is compared, none is planned."""


@pytest.fixture(scope="module")
def told() -> Tally:
    folder = os.environ.get("KANTOPT_DATA")
    if not folder:
        pytest.skip("KANTOPT_DATA names no folder")
    path = Path(folder) / FILE
    if not path.is_file():
        pytest.skip(f"no {FILE} in KANTOPT_DATA")
    return tally(path)


@pytest.mark.data
def test_no_pod_may_go_where_the_scheduler_refuses_it(told: Tally) -> None:
    assert told.both_allow > 6000
    assert told.both_refuse > 35000
    beyond = {p: n for p, n in told.allowed_wrongly.items() if n > ALLOWED_WRONGLY.get(p, 0)}
    assert not beyond, told.first
    settled = ALLOWED_WRONGLY.keys() - told.allowed_wrongly.keys()
    assert not settled, "strike them off the list"


@pytest.mark.data
def test_no_pod_is_kept_from_where_the_scheduler_admits_it(told: Tally) -> None:
    beyond = {r: n for r, n in told.refused_wrongly.items() if n > REFUSED_WRONGLY.get(r, 0)}
    assert not beyond, told.first
    settled = REFUSED_WRONGLY.keys() - told.refused_wrongly.keys()
    assert not settled, "strike them off the list"


@pytest.mark.data
def test_pods_are_left_out_for_what_is_listed_only(told: Tally) -> None:
    assert told.left_out == LEFT_OUT, "where fewer are, strike them off the list"


@pytest.mark.data
def test_every_dump_can_be_read(told: Tally) -> None:
    assert not told.unreadable


@pytest.mark.data
def test_the_search_sees_what_the_judge_sees(told: Tally) -> None:
    assert told.search_differs == 0, told.first["search"]
