"""A campaign that is cut short goes on where it was, and counts what it did before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import campaign as module
from tests.fuzz.campaign import campaign, timed
from tests.fuzz.trial import Outcome, Tally


def outcome_of(seed: int) -> Outcome:
    faults = {"b", "a"} if seed == 3 else set()
    return Outcome(legal=True, ordered=True, moves=seed, waves=seed, faults=faults)


def test_a_campaign_goes_on_where_it_was_cut_short(tmp_path: Path) -> None:
    record, tried = tmp_path / "trials.jsonl", list[int]()

    def trial(seed: int) -> Outcome:
        if len(tried) == 4:
            raise KeyboardInterrupt
        tried.append(seed)
        return outcome_of(seed)

    first, whole, plain = Tally(), Tally(), Tally()
    with pytest.raises(KeyboardInterrupt):
        campaign({"plans": trial}, range(6), {"plans": first}, record)
    assert first.seeds == 4
    assert first.faulty == 1
    record.write_text(record.read_text(encoding="utf-8")[:-9], encoding="utf-8")  # killed
    tried.clear()
    campaign({"plans": trial}, range(6), {"plans": whole}, record)
    assert tried == [3, 4, 5]
    campaign({"plans": outcome_of}, range(6), {"plans": plain})
    assert whole.counts == plain.counts


def test_faults_on_record_are_tried_again(tmp_path: Path) -> None:
    record, told = tmp_path / "trials.jsonl", list[tuple[str, int, set[str]]]()

    def tell(kind: str, seed: int, outcome: Outcome) -> None:
        told.append((kind, seed, outcome.faults))

    for _ in range(2):
        campaign({"plans": outcome_of}, range(2, 5), {"plans": Tally()}, record, tell)
    assert told == 2 * [("plans", 2, set()), ("plans", 3, {"a", "b"}), ("plans", 4, set())]
    told.clear()
    mended = Tally()
    campaign({"plans": lambda seed: Outcome(legal=seed == 3)}, (2, 3), {"plans": mended}, record)
    assert (mended.counts["plans"], mended.faulty) == (1, 0)
    again = Tally()
    campaign({"plans": outcome_of}, (2, 3), {"plans": again}, record)
    assert again.faulty == 0


def test_a_trial_that_does_not_end_by_itself_is_at_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 19.5, 20.0, 41.5])
    monkeypatch.setattr(module.time, "process_time", lambda: next(clock))
    assert not timed(outcome_of, 1).faults
    assert timed(outcome_of, 1).faults == {"took 22 s of CPU, 20 allowed"}


def test_totals_are_shares_of_the_plans() -> None:
    tally = Tally()
    for seed in range(4):
        tally.add(outcome_of(seed))
    assert "     3  75.0 %  with a move" in str(tally).splitlines()
    assert tally.brief() == "4 seeds: 75.0 % with a move, 50.0 % in two waves, 0 circles, 1 faulty"
