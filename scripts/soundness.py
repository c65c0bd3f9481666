"""Trial of proofs on tiny questions: bounds against brute force, a second solver, mutations.

``python scripts/soundness.py`` takes a sample, ``--full`` 2,000 questions and 1,000 mutations.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kantopt.cp.multipliers import DENOMINATOR, multipliers_of
from kantopt.planning.second_opinion import least_by_highs
from kantopt.problem.tiers import tiers_of
from kantopt.verify.metrics import bounds
from kantopt.verify.witness.prices import bound_by_prices, price_rows
from tests.generate import random_instance
from tests.mutations import certificates, try_mutations
from tests.oracle import best


def check_bounds(seeds: range) -> Counter[str]:
    """Hold every bound by arithmetic against brute force, with good multipliers and with random."""
    went = Counter[str]()
    for seed in seeds:
        instance = random_instance(seed)
        tiers, rng = tiers_of(instance), random.Random(seed)
        values, _ = best(instance)
        if values is None:
            went["questions without an answer"] += 1
            continue
        went["questions"] += 1
        simple = bounds(instance, tiers, values)
        for i, tier in enumerate(tiers):
            assert simple[i] <= values[i], (seed, tier.name)
            found = simple[i]
            for locks in (dict(zip(tiers[:i], values[:i], strict=True)), {}):
                rows = price_rows(instance, tiers, i, locks)
                if rows is None:
                    continue
                tried = [(DENOMINATOR, multipliers_of(rows, 10.0))]
                for _ in range(4):
                    tried.append(
                        (8, {x: rng.choice((0, 8, rng.randint(0, 20))) for x in sorted(rows.names)})
                    )
                for denominator, multipliers in tried:
                    bound = bound_by_prices(rows, denominator, multipliers)
                    assert bound <= values[i], (seed, tier.name, multipliers)
                    went["bounds"] += 1
                    found = max(found, bound) if locks or not i else found
            went["tiers"] += 1
            went["tiers closed by arithmetic"] += found >= values[i]
    return went


def check_second_solver(seeds: range) -> Counter[str]:
    """Ask HiGHS for the optimum of each tier."""
    went = Counter[str]()
    for seed in seeds:
        instance = random_instance(seed)
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


def check_mutations(times: int) -> Counter[str]:
    """Change certificates at random places."""
    went, seed = Counter[str](), 0
    while sum(went[key] for key in went if not key.startswith("certificates")) < times:
        for certificate, raws in certificates(seed):
            went += try_mutations(certificate, raws, random.Random(seed), 20)
            went[f"certificates {certificate.verdict}"] += 1
        seed += 1
    return went


@contextlib.contextmanager
def quiet_solvers() -> Iterator[None]:
    """Keep what solvers print from standard output."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)


def main() -> None:
    """Run the trials and say what came of them; an error means that a proof is none."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="2,000 questions, 1,000 mutations")
    full = parser.parse_args().full
    trials: tuple[tuple[str, Callable[[], Counter[str]]], ...] = (
        ("Bounds against brute force", lambda: check_bounds(range(2000 if full else 100))),
        ("HiGHS against brute force", lambda: check_second_solver(range(300 if full else 20))),
        ("Mutations of certificates", lambda: check_mutations(1000 if full else 60)),
    )
    for title, trial in trials:
        with quiet_solvers():
            counts = trial()
        print(title)
        for name, count in sorted(counts.items()):
            print(f"  {count:7d} {name}")


if __name__ == "__main__":
    main()
