#!/usr/bin/env python3
"""Trial of proofs on tiny questions: bounds against brute force, a second solver, mutations.

    python scripts/soundness.py                  # a sample
    python scripts/soundness.py --full           # 2,000 questions, 300 by HiGHS, 1,000 mutations
    python scripts/soundness.py --full --workers 2 --only bounds
    python scripts/soundness.py --full --part 1/8   # an eighth of each trial, every eighth piece

Exits with 1 if a bound is above the optimum, solvers contradict each other, a changed certificate
passes on its old digest, or one with new digests is judged other than by what it claims.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kantopt.clock import Deadline
from kantopt.cp.masters.multipliers import DENOMINATOR, multipliers_of
from kantopt.cp.masters.node_prices import node_prices_of
from kantopt.planning.certificates.second_opinion import least_by_highs
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.answers.certificate import Formula, Multiplier, Witness
from kantopt.search.cutting import cutting_prices
from kantopt.search.repair.bound import change_prices
from kantopt.search.slots.prices import slot_prices
from kantopt.verify.metrics import bounds
from kantopt.verify.witness.check import proved_bound
from kantopt.verify.witness.prices import bound_by_prices
from kantopt.verify.witness.rows import price_rows
from tests.domain_trials import bounds_by_domains
from tests.gang_questions import gang_question
from tests.generate import random_instance
from tests.mutations import certificates, try_mutations
from tests.oracle import best
from tests.search.repair_questions import full_cluster
from tests.vm_questions import vm_question

CHANGES = 20
"""Mutations of each certificate."""


def repair_question(seed: int) -> Instance:
    """Draw a full cluster where few pods may move, none be evicted, and two wait."""
    return full_cluster(seed, nodes=2, gpus=2, running=5, pending=2, moves=seed % 3)


_MAKERS = {
    "question": random_instance,
    "VM question": vm_question,
    "repair question": repair_question,
    "gang question": gang_question,
}


class Trial(NamedTuple):
    """What is tried, in pieces: each has a kind of question and its seeds."""

    title: str
    work: Callable[[str, range], Counter[str]]
    pieces: list[tuple[str, range]]


def check_bounds(kind: str, seeds: range) -> Counter[str]:
    """Hold every bound by arithmetic against brute force, with good multipliers and with random."""
    went = Counter[str]()
    for seed in seeds:
        instance = _MAKERS[kind](seed)
        tiers, rng = tiers_of(instance), random.Random(seed)
        values, _ = best(instance)
        if values is None:
            went[f"{kind}s without an answer"] += 1
            continue
        went[f"{kind}s"] += 1
        simple = bounds(instance, tiers, values)
        for i, tier in enumerate(tiers):
            assert simple[i] <= values[i], (kind, seed, tier.name)
            found = simple[i]
            for locks in (dict(zip(tiers[:i], values[:i], strict=True)), {}):
                for bound in _bounds(instance, tiers, values, i, locks, rng):
                    assert bound <= values[i], (kind, seed, tier.name)
                    went["bounds"] += 1
                    found = max(found, bound) if locks or not i else found
            went["tiers"] += 1
            went["tiers closed by arithmetic"] += found >= values[i]
    return went


def _bounds(
    instance: Instance,
    tiers: tuple[Tier, ...],
    values: tuple[int, ...],
    i: int,
    locks: Mapping[Tier, int],
    rng: random.Random,
) -> Iterator[int]:
    """Yield bounds by every formula with multipliers, good ones and others."""
    rows = price_rows(instance, tiers, i, locks)
    if rows is not None:
        yield bound_by_prices(rows, DENOMINATOR, multipliers_of(rows, 10.0))
        for _ in range(4):
            some = {x: rng.choice((0, 8, rng.randint(0, 20))) for x in sorted(rows.names)}
            yield bound_by_prices(rows, 8, some)
        by_node = node_prices_of(rows, values[i], lambda: False)
        if by_node is not None:
            yield bound_by_prices(rows, *by_node)
    yield from bounds_by_domains(instance, tiers, i, locks, rng, values[i])
    shares = cutting_prices(instance, tiers, values, i, Deadline(None))
    contents = slot_prices(instance, tiers, values, i, lambda: False)
    changes = change_prices(instance, tiers, values, i, lambda: False, 20)
    given: list[tuple[Formula, int, dict[str, int]]] = []
    if shares is not None:
        given.append(("shares", shares.denominator, shares.multipliers))
    if contents is not None:
        given.append(("contents", *contents))
    if changes is not None:
        given.append(("changes", changes.denominator, changes.multipliers))
    for formula, denominator, multipliers in given:
        for change in (False, True, True):
            part = [
                Multiplier(row=row, value=k * (rng.choice((60, 100, 100, 150)) if change else 100))
                for row, k in multipliers.items()
                if k and (locks or not row.startswith("tier "))
            ]
            if formula != "shares" or any(each.row.startswith("shares") for each in part):
                witness = Witness(
                    formula=formula, denominator=100 * denominator, multipliers=tuple(part)
                )
                # Without the tiers above there are not always the same rows.
                with (
                    contextlib.nullcontext() if locks or not i else contextlib.suppress(ValueError)
                ):
                    yield proved_bound(witness, instance, tiers, i, locks)


def check_second_solver(kind: str, seeds: range) -> Counter[str]:
    """Ask HiGHS for the optimum of each tier."""
    went = Counter[str]()
    for seed in seeds:
        instance = _MAKERS[kind](seed)
        tiers = tiers_of(instance)
        values, _ = best(instance)
        if values is None:
            continue
        found = [least_by_highs(instance, tiers, values, i, 30.0) for i in range(len(tiers))]
        for value, finding in zip(values, found, strict=True):
            assert finding is None or finding == (value, True), (seed, value, finding)
            went["tiers agreed" if finding else "tiers undecided"] += 1
        went["questions agreed in all tiers"] += None not in found
    return went


def check_mutations(_: str, seeds: range) -> Counter[str]:
    """Change certificates at random places."""
    went = Counter[str]()
    for seed in seeds:
        for certificate, raws in certificates(seed):
            mutations = try_mutations(certificate, raws, random.Random(seed), CHANGES)
            went += mutations
            went["mutations refused on their digest"] += (
                mutations.total() - mutations["no certificate any more"]
            )
            went[f"certificates {certificate.verdict}"] += 1
    return went


def pieces_of(kind: str, count: int, size: int) -> list[tuple[str, range]]:
    """Cut seeds into pieces."""
    return [(kind, range(first, min(first + size, count))) for first in range(0, count, size)]


def trials(full: bool) -> dict[str, Trial]:
    """Return the trials of a sample, or of the whole campaign."""
    questions, machines, repairs, gangs = (2100, 200, 200, 300) if full else (100, 20, 20, 30)
    solved, changed = (300, 44) if full else (20, 3)
    return {
        "bounds": Trial(
            "Bounds against brute force",
            check_bounds,
            pieces_of("question", questions, 25)
            + pieces_of("VM question", machines, 10)
            + pieces_of("repair question", repairs, 10)
            + pieces_of("gang question", gangs, 10),
        ),
        "highs": Trial(
            "HiGHS against brute force", check_second_solver, pieces_of("question", solved, 10)
        ),
        "mutations": Trial(
            "Mutations of certificates", check_mutations, pieces_of("question", changed, 1)
        ),
    }


def part(text: str) -> tuple[int, int]:
    """Read which part of how many is wanted: ``2/8``."""
    k, _, n = text.partition("/")
    if not (k.isdecimal() and n.isdecimal() and 0 < int(k) <= int(n)):
        raise argparse.ArgumentTypeError(f"found {text}, expected K/N such as 2/8")
    return int(k), int(n)


def quieten() -> None:
    """Keep what solvers print from standard output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def run(trial: Trial, workers: int) -> Counter[str]:
    """Run the pieces of a trial, with progress on a terminal's standard error."""
    counts = Counter[str]()
    with ProcessPoolExecutor(workers, initializer=quieten) as pool:
        futures = [pool.submit(trial.work, *piece) for piece in trial.pieces]
        try:
            for k, future in enumerate(as_completed(futures), 1):
                counts += future.result()
                if sys.stderr.isatty():
                    text = f"\r{trial.title}: {k} of {len(futures)} pieces "
                    print(text, end="\n" if k == len(futures) else "", file=sys.stderr)
        finally:
            pool.shutdown(cancel_futures=True)
    return counts


def main() -> int:
    """Run the trials and say what came of them; an error means that a proof is none."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    chosen = trials(False)
    parser.add_argument("--full", action="store_true", help="the whole campaign")
    parser.add_argument("--only", choices=sorted(chosen), action="append", help="repeatable")
    parser.add_argument(
        "--part", type=part, default=(1, 1), metavar="K/N", help="of each trial every Nth piece"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count(), metavar="N")
    args = parser.parse_args()
    k, n = args.part
    for name, trial in trials(args.full).items():
        if args.only and name not in args.only:
            continue
        began = time.monotonic()
        try:
            counts = run(trial._replace(pieces=trial.pieces[k - 1 :: n]), max(1, args.workers))
        except AssertionError as error:
            print(f"{trial.title}: FAULT: {error}")
            return 1
        print(f"{trial.title}, {time.monotonic() - began:.0f} s")
        for what, count in sorted(counts.items()):
            print(f"  {count:7,d} {what}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
