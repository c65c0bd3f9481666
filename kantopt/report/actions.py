"""The actions of a plan, wave by wave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kantopt.report.blocks import Table, in_lines
from kantopt.report.names import joined, on_devices, places
from kantopt.report.units import plural
from kantopt.schema.plan import Binding, Eviction, Move, Plan, Wave

Action = Binding | Eviction | Move


def action_lines(plan: Plan) -> str:
    """One line per action, in the order of the waves: ``bind JOB/PODSET NODE xN``."""
    actions = _by_id(plan)
    lines = []
    for wave in plan.waves:
        for action in (actions[identity] for identity in wave.actions):
            kind, source, target = _parts(action)
            where = " ".join(place for place in (source, target) if place)
            lines.append(f"{kind} {action.job}/{action.pod_set} {where} x{action.count}")
    return in_lines(lines)


def actions_table(plan: Plan) -> Iterator[Table]:
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


def wide_actions_table(plan: Plan) -> Iterator[Table]:
    """Every action with its pods, budgets and devices."""
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


def _by_id(plan: Plan) -> dict[str, Action]:
    items: tuple[Action, ...] = (*plan.assignments, *plan.evictions, *plan.moves)
    return {item.id: item for item in items}


def _parts(action: Action) -> tuple[str, str, str]:
    """Kind, place left and place taken of an action."""
    if isinstance(action, Binding):
        kind = "fill" if action.leftover else "bind"
        return kind, "", on_devices(action.node, action.devices)
    if isinstance(action, Eviction):
        return "evict", on_devices(action.node, action.devices), ""
    source = on_devices(action.from_node, action.from_devices)
    return "move", source, on_devices(action.to_node, action.to_devices)


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
