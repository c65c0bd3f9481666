"""R9 topology spread (required form)."""

from __future__ import annotations

from kantopt.cp.balance import arrives_in, balance
from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.job import Spread


def add_spread(m: Variables) -> None:
    """Where pods arrive, their domain exceeds the emptiest eligible one by at most maxSkew."""
    for i, spread in enumerate(m.instance.spreads):
        m.about("spread", i)
        _add_constraint(m, i, spread)


def _add_constraint(m: Variables, i: int, spread: Spread) -> None:
    counts, least = balance(m, i, spread)
    arriving: dict[str, Terms] = {}
    for n, var in m.arrive[spread.owner].items():
        key = m.instance.label_domain(n, spread.key)
        if key is None:
            m.cp.add(var == 0)
        elif key in counts:
            arriving.setdefault(key, []).append((var, 1))
    for domain, terms in sorted(arriving.items()):
        here = arrives_in(m, i, spread, domain, terms)
        m.cp.add(weighted(counts[domain]) <= spread.max_skew + least).only_enforce_if(here)
