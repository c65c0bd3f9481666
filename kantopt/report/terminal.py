"""A plan for people: what to do, how good it is, what is left and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kantopt.report.blocks import Block, Listing, Paragraph, Style, Table, escaped
from kantopt.report.goals import goals_table
from kantopt.report.names import joined, on_devices, places
from kantopt.report.schedule import schedule_blocks
from kantopt.report.size import Size, size_blocks
from kantopt.report.tiers import tier_label, tier_number
from kantopt.report.units import plural, size_bytes
from kantopt.schema.plan import Binding, Eviction, Move, Plan, Standing, Tier, Wave

Action = Binding | Eviction | Move


def plan_blocks(
    plan: Plan,
    *,
    wide: bool = False,
    scales: Mapping[str, int] | None = None,
    size: Size | None = None,
) -> list[Block]:
    """Lay out a plan.

    Parameters
    ----------
    plan
        The plan.
    wide
        Every action with its pods, devices and budgets, and every standing violation.
    scales
        By name of a tier, what its numbers are to be divided by to be GPUs; for tiers whose unit
        alone does not say it (``stranded_gpus``, which is weighted by the job mix).
    size
        What the plan is for; said if it is wide.
    """
    blocks: list[Block] = [*_headline(plan, scales or {}), *size_blocks(size, wide=wide)]
    # Cut short, a plan may be far from what was asked for: said before what it is.
    cut = any(text.startswith(_CUT_SHORT) for text in plan.warnings)
    warnings = [Listing("WARNINGS", plan.warnings, "warn")] if plan.warnings else []
    blocks += warnings if cut else []
    blocks += goals_table(plan)
    blocks += _tiers(plan.objectives, scales or {}, wide)
    blocks += _wide_actions(plan) if wide else _actions(plan)
    blocks += schedule_blocks(plan)
    blocks += _victims(plan.evictions)
    blocks += _cascade(plan)
    blocks += _unplaced(plan)
    blocks += [] if cut else warnings
    blocks += _standing(plan, wide)
    return blocks


def action_lines(plan: Plan) -> str:
    """One line per action, in the order of the waves: ``bind JOB/PODSET NODE xN``."""
    actions = _by_id(plan)
    lines = []
    for wave in plan.waves:
        for action in (actions[identity] for identity in wave.actions):
            kind, source, target = _parts(action)
            where = " ".join(place for place in (source, target) if place)
            lines.append(f"{kind} {action.job}/{action.pod_set} {where} x{action.count}")
    return "".join(f"{escaped(line)}\n" for line in lines)


def _by_id(plan: Plan) -> dict[str, Action]:
    items: tuple[Action, ...] = (*plan.assignments, *plan.evictions, *plan.moves)
    return {item.id: item for item in items}


def _parts(action: Action) -> tuple[str, str, str]:
    """Kind, place left and place taken of an action."""
    if isinstance(action, Binding):
        return "bind", "", on_devices(action.node, action.devices)
    if isinstance(action, Eviction):
        return "evict", on_devices(action.node, action.devices), ""
    source = on_devices(action.from_node, action.from_devices)
    return "move", source, on_devices(action.to_node, action.to_devices)


def _headline(plan: Plan, scales: Mapping[str, int]) -> Iterator[Paragraph]:
    summary = plan.summary
    parts = []
    if summary.placed_pods:
        jobs = plural(summary.placed_jobs, "job")
        parts.append(f"place {plural(summary.placed_pods, 'pod')} of {jobs}")
    if summary.evicted_pods:
        parts.append(f"evict {plural(summary.evicted_pods, 'pod')}")
    if summary.moved_pods:
        aside = f" with {plural(summary.stopovers, 'stop-over')}" if summary.stopovers else ""
        memory = plan.timing.memory_bytes if plan.timing is not None else 0
        live = f" ({size_bytes(memory)} live)" if memory else ""
        parts.append(f"move {plural(summary.moved_pods, 'pod')}{live}{aside}")
    todo = ", ".join(parts) if parts else "nothing to do"
    left = ""
    if summary.unplaced_pods:
        stay = "stays" if summary.unplaced_jobs == 1 else "stay"
        jobs = plural(summary.unplaced_jobs, "job")
        left = f"; {jobs} ({plural(summary.unplaced_pods, 'pod')}) {stay} pending"
    yield Paragraph(f"{todo[0].upper()}{todo[1:]}{left}.", "title")
    yield _quality(plan, scales)
    snapshot = plan.metadata.snapshot
    name = snapshot.name or "the cluster"
    moment = f" at {snapshot.captured_at}" if snapshot.captured_at else ""
    model = plan.model.metadata.name or "(unnamed)"
    found = {
        "none": "",
        "fast": f", found by {plan.solver.strategy}",
        "cp-sat": ", found by cp-sat",
    }
    text = f"{name}{moment}, model {model}, engine {plan.solver.engine}"
    yield Paragraph(f"{text}{found[plan.solver.found_by]}.", "dim")


def _quality(plan: Plan, scales: Mapping[str, int]) -> Paragraph:
    """Say how good the plan is: proved, or which objective is open first, and by how much."""
    status = plan.solver.status
    if status == "UNKNOWN":
        return Paragraph("UNKNOWN: the run ended before anything was examined.", "warn")
    if status == "INFEASIBLE":
        closed = all(tier.status == "OPTIMAL" for tier in plan.objectives)
        rest = "no plan does better by the others" if closed else "this is a plan for the others"
        text = f"INFEASIBLE: a required job provably has no place; {rest}."
        return Paragraph(text, "bad")
    if status == "OPTIMAL":
        return Paragraph("OPTIMAL: no plan is better in any objective, in this order.", "good")
    open_tiers = [tier for tier in plan.objectives if tier.status != "OPTIMAL"]
    if not open_tiers:
        return Paragraph("FEASIBLE: a legal plan, but it misses what is required.", "warn")
    first = open_tiers[0]
    gap = "nothing is known of better ones"
    if first.bound is not None:
        value, bound = (
            tier_number(first.name, first.unit, number, scales)
            for number in (first.value, first.bound)
        )
        gap = f"it is {value}, and no plan gets below {bound}"
    proved = plan.objectives.index(first)
    above = "; the objective above it is proved" if proved == 1 else ""
    if proved > 1:
        above = f"; the {proved} objectives above it are proved"
    return Paragraph(f"FEASIBLE: {tier_label(first.name)} is open: {gap}{above}.", "warn")


def _tiers(tiers: Sequence[Tier], scales: Mapping[str, int], wide: bool) -> Iterator[Block]:
    """Tiers in order; those that are met without doing anything only counted, unless wide."""
    if not tiers:
        return
    shown = [tier for tier in tiers if wide or not _idle(tier)]
    if len(tiers) - len(shown) < _FEW:
        shown = list(tiers)
    unproved = frozenset(tier.name for tier in tiers if tier.status != "OPTIMAL")
    rows, styles = [], []
    for tier in shown:
        numbers = [
            tier_number(tier.name, tier.unit, value, scales)
            for value in (tier.before, tier.value, tier.bound)
        ]
        rows.append((tier_label(tier.name), *numbers, _proof(tier, unproved)))
        style: Style = "" if tier.status == "OPTIMAL" else "warn"
        styles.append(style)
    title, idle = "OBJECTIVES, most important first", len(tiers) - len(shown)
    zero = "0 before and after, which is optimal (-o wide lists them)"
    if not rows:
        yield Listing(title, (f"all {idle} are {zero}",))
        return
    yield Table(
        title,
        ("OBJECTIVE", "BEFORE", "VALUE", "BOUND", "PROOF"),
        tuple(rows),
        frozenset({1, 2, 3}),
        tuple(styles),
    )
    if idle:
        yield Paragraph(f"and {idle} that are {zero}", "dim")


def _proof(tier: Tier, unproved: frozenset[str]) -> str:
    """Who proved what; a bound that rests on tiers which are open themselves says so."""
    given = ", given the open ones above" if unproved.intersection(tier.given) else ""
    if tier.status == "OPTIMAL":
        return f"OPTIMAL by {tier.proved_by}{given}"
    return f"{tier.status}{given}"


_FEW = 4
"""Fewer idle tiers than this are not worth a line that says so."""


def _idle(tier: Tier) -> bool:
    return tier.before == tier.value == 0 and tier.status == "OPTIMAL"


def _actions(plan: Plan) -> Iterator[Table]:
    """Actions by wave, those on one pod set together."""
    actions = _by_id(plan)
    chain = _longest_chain(plan) == len(plan.waves)
    rows = []
    for wave in plan.waves:
        groups: dict[tuple[str, str, str], list[Action]] = {}
        for action in (actions[identity] for identity in wave.actions):
            kind = "stop-over" if _steps_aside(action) else _parts(action)[0]
            groups.setdefault((kind, action.job, action.pod_set), []).append(action)
        for (kind, job, pod_set), group in groups.items():
            pods = sum(action.count for action in group)
            after = () if chain else (_after(wave),)
            where = _where(kind, group)
            rows.append((str(wave.id), *after, kind, f"{job}/{pod_set}", str(pods), where))
    if rows:
        waits = () if chain else ("AFTER",)
        yield Table(
            _waves_title(plan),
            ("WAVE", *waits, "ACTION", "JOB/PODSET", "PODS", "NODES"),
            tuple(rows),
            frozenset({0, 3 + len(waits)}),
        )


def _steps_aside(action: Action) -> bool:
    return isinstance(action, Move) and action.stopover


def _after(wave: Wave) -> str:
    return ",".join(map(str, wave.after)) or "-"


def _longest_chain(plan: Plan) -> int:
    """Waves of the longest row in which each waits for the one before it."""
    length: dict[int, int] = {}
    for wave in plan.waves:
        length[wave.id] = 1 + max((length[before] for before in wave.after), default=0)
    return max(length.values(), default=0)


def _waves_title(plan: Plan) -> str:
    waves, chain = len(plan.waves), _longest_chain(plan)
    title = f"ACTIONS in {plural(waves, 'wave')}"
    if waves == 1:
        return title
    if chain == waves:
        return f"{title}, one after the other"
    if chain == 1:
        return f"{title}, in any order"
    return f"{title}, at most {chain} one after the other"


def _where(kind: str, group: Sequence[Action]) -> str:
    if kind in ("move", "stop-over"):
        return ", ".join(
            f"{source} -> {target}" + (f" x{action.count}" if action.count > 1 else "")
            for action in group
            for _, source, target in [_parts(action)]
        )
    return places((_parts(a)[1] or _parts(a)[2], a.count) for a in group)


def _wide_actions(plan: Plan) -> Iterator[Table]:
    actions = _by_id(plan)
    rows = []
    for wave in plan.waves:
        after = _after(wave)
        for action in (actions[identity] for identity in wave.actions):
            kind, source, target = _parts(action)
            if isinstance(action, Move):
                kind = f"{'stop-over' if action.stopover else 'move'} ({action.mode})"
            budgets = () if isinstance(action, Binding) else action.budgets
            rows.append(
                (
                    str(wave.id),
                    after,
                    action.id,
                    kind,
                    f"{action.job}/{action.pod_set}",
                    str(action.count),
                    source or "-",
                    target or "-",
                    ", ".join(budgets) or "-",
                    joined(pod.name for pod in action.pods) or "-",
                )
            )
    if rows:
        names = "WAVE AFTER ID ACTION JOB/PODSET PODS FROM TO BUDGETS NAMES"
        yield Table("ACTIONS", tuple(names.split()), tuple(rows), frozenset({0, 5}))


def _victims(evictions: Sequence[Eviction]) -> Iterator[Table]:
    """Who gives way to whom."""
    pods: dict[tuple[str, int, str], int] = {}
    for item in evictions:
        key = (item.job, item.priority, item.for_job or "-")
        pods[key] = pods.get(key, 0) + item.count
    if pods:
        yield Table(
            "EVICTED",
            ("JOB", "PRIORITY", "PODS", "FOR"),
            tuple((job, str(p), str(count), why) for (job, p, why), count in pods.items()),
            frozenset({1, 2}),
        )


def _cascade(plan: Plan) -> Iterator[Block]:
    """What the victims would do once they are queued again."""
    if plan.cascade is None:
        return
    rows = [
        (str(i), pushed.job, str(pushed.priority), str(pushed.pods), pushed.for_job or "-")
        for i, each in enumerate(plan.cascade.rounds, 1)
        for pushed in each.evicted
    ]
    if rows:
        yield Table(
            "PUSHED OUT NEXT, if the victims are queued again",
            ("ROUND", "JOB", "PRIORITY", "PODS", "FOR"),
            tuple(rows),
            frozenset({0, 2, 3}),
        )
    if not plan.cascade.complete:
        text = "What the victims would do once they are queued again was not followed to its end."
        yield Paragraph(text, "warn")
    elif not rows:
        yield Paragraph("Queued again, the victims would push nobody out.", "dim")


def _unplaced(plan: Plan) -> Iterator[Table]:
    if plan.unplaced:
        rows = tuple(
            (
                item.job,
                str(item.priority),
                f"{item.pods} of {item.wanted}",
                f"{item.rule}: {item.message}",
            )
            for item in sorted(plan.unplaced, key=lambda item: -item.priority)
        )
        yield Table("PENDING", ("JOB", "PRIORITY", "PODS", "WHY"), rows, frozenset({1}))


_CUT_SHORT = ("interrupted", "the time limit")
"""How warnings begin that say what ended the search."""


def _standing(plan: Plan, wide: bool) -> Iterator[Block]:
    if not plan.pre_existing:
        return
    title = "WRONG BEFORE, and not made worse"
    if wide:
        yield standing_table(title, plan.pre_existing)
        return
    rules: dict[str, int] = {}
    for item in plan.pre_existing:
        rules[item.rule] = rules.get(item.rule, 0) + 1
    counts = ", ".join(f"{rule} {count}" for rule, count in sorted(rules.items()))
    yield Listing(title, (f"{counts} (-o wide lists them)",))


def standing_table(title: str, items: Sequence[Standing]) -> Table:
    """List violations: rule, subject, amount of limit."""
    rows = tuple((item.rule, item.subject, item.message) for item in items)
    return Table(title, ("RULE", "SUBJECT", "AMOUNT"), rows)
