"""The schedule: which technique runs when, where, and how long.

The bounds that are quick come first, and what they need is loaded first: in a run of a second the
solver's process has hardly begun when there is a question. So nothing is loaded here that a
technique needs before it runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from time import sleep
from typing import TYPE_CHECKING

from kantopt.clock import elapsed
from kantopt.errors import UsageError
from kantopt.problem.tiers import OF_WHO_IS_PLACED, changes_tier
from kantopt.schema.hints import did_you_mean
from kantopt.search.applicability import (
    after_domains,
    before_columns,
    before_disruption,
    close_enough,
    devices_in_use,
    devices_settled,
    disturbed,
    first_open,
    least_disruption,
    near_enough,
    no_gangs,
    no_gangs_go,
    no_glance,
    no_goal_open,
    nothing_between,
    nothing_new,
)
from kantopt.search.engine.technique import Technique, Turn
from kantopt.shares import FIRST_TIERS, MOST_PROXIMITY, SHARE_OF_PROXIMITY, WHEEL, WHOLE

if TYPE_CHECKING:
    from kantopt.clock import Deadline
    from kantopt.search.engine.desk import Desk

# -- the techniques

RELOCATION = Technique("relocation", "repacking", "planner")
REVERSE_TRIM = Technique("reverse-trim", "reverse trim (Kueue)", "planner")
EXCHANGE = Technique("exchange", "k-exchange", "planner")
RUIN_AND_RECREATE = Technique(
    "ruin-and-recreate", "ruin and recreate (Schrimpf et al. 2000)", "planner"
)
LOCAL_SEARCH = Technique("local-search", "bin emptying and steepest descent", "planner")
EJECTION_CHAINS = Technique("ejection-chains", "ejection chains (Glover 1996)", "planner")
REPAIR = Technique("repair", "ejection chains of one or two pods", "planner")
SPARING = Technique("sparing", "minimal preemption", "planner")
HOMECOMING = Technique("homecoming", "ruin and recreate, by halves", "planner")
RETURNING = Technique("returning", "path relinking", "planner")
DECOMPOSITION = Technique("decomposition", "decomposition into independent parts", "solver")
RELAXATION = Technique(
    "relaxation",
    "relaxation by aggregation",
    "solver",
    "relaxation:relax",
    nothing_new("relaxation"),
)
CUTTING_STOCK = Technique(
    "cutting-stock",
    "cutting stock (Gilmore and Gomory 1961)",
    "solver",
    "relaxation:cut",
    nothing_new("cutting-stock"),
)
SYMMETRY = Technique("symmetry", "isomorphism pruning (Margot 2002)", "solver", hinders=disturbed)
NODE_PATTERNS = Technique(
    "node-patterns",
    "cutting stock in whole numbers (Gilmore and Gomory 1961)",
    "solver",
    "node_patterns:refill",
    nothing_new("node-patterns"),
)
FIX_AND_OPTIMIZE = Technique(
    "fix-and-optimize",
    "fix-and-optimize (Gintner, Kliewer and Suhl 2005)",
    "solver",
    "fix_and_optimize:optimize",
    no_gangs_go,
)
DEVICE_PATTERNS = Technique(
    "device-patterns", "pattern-based rounding", "solver", "device_patterns:fill", devices_in_use
)
BIN_COMPLETION = Technique(
    "bin-completion", "bin completion (Korf 2003)", "solver", "bin_completion:bins"
)
COVERING = Technique(
    "covering", "set covering over contents of bins", "solver", "bin_completion:choose"
)
DOMAINS = Technique(
    "domains", "relaxation by aggregation, domain by domain", "solver", "domains:divided", no_gangs
)
SQUEAKY_WHEEL = Technique(
    "squeaky-wheel",
    "squeaky wheel optimization (Joslin and Clements 1999)",
    "solver",
    "squeaky_wheel:closer",
    close_enough,
)
MOVE_PRICES = Technique("move-prices", "Lagrangian relaxation", "solver", "move_prices:ceiling")
CONTENT_COLUMNS = Technique(
    "content-columns", "column generation over contents of nodes", "solver", "content_columns:slots"
)
DISRUPTION_COLUMNS = Technique(
    "disruption-columns",
    "Dantzig-Wolfe decomposition by node",
    "solver",
    "disruption_columns:disruption",
    least_disruption,
)
NEIGHBOURHOODS = Technique(
    "neighbourhoods", "large neighbourhood search (Shaw 1998)", "solver", "neighbourhoods:nearby"
)
CP_SAT = Technique("cp-sat", "constraint programming", "solver", "cp_sat:whole")
PROXIMITY = Technique(
    "proximity",
    "proximity search (Fischetti and Monaci 2014)",
    "solver",
    "proximity:nearest",
    near_enough,
)

# -- the schedule


FAST = (
    RELOCATION,
    REVERSE_TRIM,
    EXCHANGE,
    RUIN_AND_RECREATE,
    LOCAL_SEARCH,
    SQUEAKY_WHEEL,
)
"""With the fast path: these are names, what runs when is for its modules to say."""
BESIDE = (REPAIR, EJECTION_CHAINS)
"""In the planner's process while the solver is at work: the first that has something to move."""
LAST = (SPARING, HOMECOMING, RETURNING)
"""Before the answer, where it is not proved; but for the first in between as well."""
FIRST = (
    Turn(RELAXATION, by_work=True),
    Turn(CUTTING_STOCK, by_work=True),
    Turn(NODE_PATTERNS, 0.25, by_work=True),
    Turn(SYMMETRY, by_work=True),
    Turn(DEVICE_PATTERNS, by_work=True),
    Turn(BIN_COMPLETION, by_work=True),
    Turn(FIX_AND_OPTIMIZE, 0.5, waits=0.3),
    Turn(DOMAINS, 0.2, glance=True, hinders=nothing_between),
    Turn(CP_SAT, glance=True, hinders=no_glance),
    Turn(NEIGHBOURHOODS, 0.8, patience=0.3, by_work=True, hinders=after_domains),
    Turn(DOMAINS, 0.7),
    Turn(NEIGHBOURHOODS, 0.8, patience=0.5, hinders=after_domains),
    Turn(SQUEAKY_WHEEL, WHEEL, by_work=True),
    Turn(RELAXATION, waits=0.3),  # with a plan that places more fine classes are seldom needed
    Turn(CUTTING_STOCK),
    Turn(NODE_PATTERNS, 0.3),
    Turn(SYMMETRY),
    Turn(NEIGHBOURHOODS, 0.5, by_work=True, glance=True, hinders=devices_settled),
    Turn(MOVE_PRICES, 0.6),
    Turn(CONTENT_COLUMNS, 0.95),  # tiers of slots are mostly closed by it
    Turn(COVERING, 0.25),
    Turn(NEIGHBOURHOODS, 0.5, by_work=True, patience=0.6, hinders=no_goal_open),
    # The planner is about to have a plan that places more; what comes next is long to write down.
    Turn(NEIGHBOURHOODS, 0.25, True, 0.3, waits=0.1, hinders=before_columns),
    Turn(DISRUPTION_COLUMNS, 0.25, waits=0.1, hinders=before_disruption),
    Turn(CP_SAT, 0.25, by_work=True),  # small questions are proved by then
)
"""In the solver's process, once."""
IN_TURN = (
    Turn(SYMMETRY),
    Turn(NODE_PATTERNS, 0.3),
    Turn(FIX_AND_OPTIMIZE, 0.3),
    Turn(SQUEAKY_WHEEL, 0.2),
    Turn(BIN_COMPLETION),
    Turn(COVERING, 0.4),
    Turn(NEIGHBOURHOODS, 0.4, hinders=before_columns),
    Turn(DISRUPTION_COLUMNS, 0.6),  # needs its time and then changes a lot
    Turn(NEIGHBOURHOODS, 0.4),
    Turn(CP_SAT, 0.4),
)
"""There as well, again and again until nothing is left to gain or the time is up."""
AT_LAST = Turn(PROXIMITY)
"""There as well, in the time that is kept for it: what comes nearer is lost with the next plan."""
IDLE = 0.01
"""Seconds that a round takes in which nothing was done."""
_GLIMPSE, _WAITING = 0.005, 0.1
"""Seconds between two looks for a better plan, and the share of the time left to wait for one."""


def techniques() -> tuple[Technique, ...]:
    """Return all techniques, in the order of the schedule."""
    turns = (turn.technique for turn in (*FIRST, *IN_TURN, AT_LAST))
    return tuple(dict.fromkeys((*FAST, *BESIDE, *LAST, DECOMPOSITION, *turns)))


def known_techniques(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of techniques, each once, in alphabetical order.

    Raises
    ------
    UsageError
        If there is no such technique.
    """
    known = [technique.name for technique in techniques()]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"there are: {', '.join(known)}"
            raise UsageError(f"--without {name}: no technique of that name; {hint}")
    return tuple(sorted(set(names)))


def load() -> None:
    """Load what runs last, while there is nothing else to do."""
    from kantopt.search.techniques import (  # noqa: F401
        bin_completion,
        content_columns,
        cp_sat,
        disruption_columns,
        move_prices,
        neighbourhoods,
    )


def search(desk: Desk, *, undivided: bool = False) -> bool:
    """Search until nothing is left to gain or the time is up.

    What shares nothing is searched apart first, unless the question is to stay ``undivided``.
    Returns whether there provably is no legal placement: a required job has no place. A fault of a
    technique must not cost what the others find; where there is no plan yet there are none.
    """
    ended = None if undivided else _divided(desk)
    if ended is not None:
        return ended
    for turn in _turns(desk):
        technique = turn.technique
        known = technique in (RELAXATION, FIX_AND_OPTIMIZE) and technique.hinders(desk)
        if desk.may(technique) and not (undivided or known):
            _wait(desk, turn.waits)
        if turn.hinders(desk) or not desk.applies(technique):
            continue
        desk.begin(technique)
        desk.patience, desk.glance = turn.patience, turn.glance
        try:
            if technique is SYMMETRY:
                from kantopt.search.techniques.symmetry import reduced

                until = _until(desk, turn)
                reduced(desk, until, until.share(FIRST_TIERS), search)
            elif technique.load()(desk, _until(desk, turn)):
                return True
        except Exception as error:
            if desk.incumbent.missing:
                raise
            desk.note(f"a technique failed ({technique.name}): {error!r}")
    return False


def _wait(desk: Desk, seconds: float) -> None:
    """Wait for the planner to place more, unless it is proved who is placed or work is counted."""
    most = min(seconds, _WAITING * desk.budget.deadline.remaining())
    until = elapsed() + (0.0 if desk.budget.work is not None else most)
    while elapsed() < until and not desk.done() and first_open(desk, OF_WHO_IS_PLACED):
        sleep(_GLIMPSE)
        desk.refresh()


def _until(desk: Desk, turn: Turn) -> Deadline:
    """Until when a technique may run whose turn it is."""
    deadline = desk.budget.deadline
    divided = desk.budget.work is None and turn.share < 1 and deadline.remaining() > WHOLE
    return deadline.share(turn.share) if divided else deadline


def _divided(desk: Desk) -> bool | None:
    """Search apart what shares nothing, as far as the first tiers are sums over parts.

    Returns whether there provably is no legal placement; ``None`` if the whole is to be searched.
    """
    from kantopt.search.parts.division import parts_of, summed

    tiers = desk.tiers[: summed(desk.instance, desk.tiers)]
    divisible = tiers and not desk.forbidden and desk.may(DECOMPOSITION)
    parts = parts_of(desk.instance, tiers) if divisible else ()
    if len(parts) < 2:
        return None
    budget, whole_tiers = desk.budget, len(tiers) == len(desk.tiers)
    if not whole_tiers:
        deadline = budget.deadline.share(FIRST_TIERS)
        work = None if budget.work is None else budget.work / 2
        budget = desk.budget = replace(budget, work=work)
        budget = replace(budget, deadline=deadline)
    from kantopt.search.techniques.decomposition import apart

    desk.begin(DECOMPOSITION)
    if apart(desk, parts, tiers, budget, partial(search, undivided=True)):
        return True
    # Where work is counted the parts have had all there is.
    spent = whole_tiers and budget.work is not None
    return False if desk.done() or spent else None


def _turns(desk: Desk) -> Iterator[Turn]:
    """Yield the turns that there are, the last one in time that is kept for it."""
    if desk.incumbent.missing or desk.forbidden:
        yield Turn(CP_SAT)
        return
    until = desk.budget.deadline
    if changes_tier(desk.tiers) is not None and desk.budget.work is None:
        kept = min(MOST_PROXIMITY, until.remaining() * SHARE_OF_PROXIMITY)
        desk.budget = replace(desk.budget, deadline=until.less(kept))
    yield from _bettering(desk)
    desk.budget = replace(desk.budget, deadline=until)
    if not (desk.over() or desk.incumbent.optimal):
        yield AT_LAST


def _bettering(desk: Desk) -> Iterator[Turn]:
    """Yield the turns for better plans until none of those that come again can do anything."""
    for turn in FIRST:
        if desk.budget.work is None or turn.by_work:
            yield turn
            if desk.done() or desk.budget.work == 0:
                return
    if desk.budget.work is not None:
        return
    while any(desk.may(turn.technique) and not turn.technique.hinders(desk) for turn in IN_TURN):
        began = elapsed()
        for turn in IN_TURN:
            yield turn
            if desk.done():
                return
        if elapsed() - began < IDLE:
            return  # those that apply have nothing to do, and would have nothing the next time
