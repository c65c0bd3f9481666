"""Many trials: counted as they come, and kept in a file so that a campaign can be cut in pieces."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from tests.fuzz.trial import Outcome, Tally

MOST_SECONDS = 20.0
"""CPU seconds; these clusters are tiny, so a trial that takes longer ends by the clock alone."""


def campaign(
    trials: Mapping[str, Callable[[int], Outcome]],
    seeds: Iterable[int],
    tallies: Mapping[str, Tally],
    record: Path | None = None,
    tell: Callable[[str, int, Outcome], None] = lambda kind, seed, outcome: None,
) -> None:
    """Make all kinds of trial with all seeds, but for those on record as faultless.

    Parameters
    ----------
    tallies
        Of each kind; up to date whenever this is interrupted.
    record
        File with a line of JSON for each trial made. Delete it when what is drawn changes.
    tell
        Told each outcome, of this run and of earlier ones.
    """
    known = _read(record) if record is not None and record.exists() else {}
    for seed in seeds:
        for kind, trial in trials.items():
            outcome = known.get((kind, seed))
            if outcome is None or outcome.faults:
                outcome = timed(trial, seed)
                if record is not None:
                    _append(record, kind, seed, outcome)
            tallies[kind].add(outcome)
            tell(kind, seed, outcome)


def timed(trial: Callable[[int], Outcome], seed: int) -> Outcome:
    """Make a trial; one that does not end by itself is at fault."""
    began = time.process_time()
    outcome = trial(seed)
    outcome.seconds = round(time.process_time() - began, 3)
    if outcome.seconds > MOST_SECONDS:
        outcome.faults.add(f"took {outcome.seconds:.0f} s of CPU, {MOST_SECONDS:.0f} allowed")
    return outcome


def _append(record: Path, kind: str, seed: int, outcome: Outcome) -> None:
    line = {"kind": kind, "seed": seed, **asdict(outcome), "faults": sorted(outcome.faults)}
    with record.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _read(record: Path) -> dict[tuple[str, int], Outcome]:
    """Read what is on record; a last line that was cut short is taken out of it."""
    text = record.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        record.write_text(whole, encoding="utf-8")
    known = {}
    for line in whole.splitlines():
        fields = json.loads(line)
        key = fields.pop("kind"), fields.pop("seed")
        known[key] = Outcome(**{**fields, "faults": set(fields["faults"])})
    return known
