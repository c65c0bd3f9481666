"""The actions of a plan, wave by wave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeVar

from kantopt.report.blocks import Block, Paragraph, Style, Table, in_lines
from kantopt.report.brief import MOST
from kantopt.report.names import joined, on_devices, places, priority_words
from kantopt.report.purposes import purposes
from kantopt.schema.answers.actions import PlanAction, actions_of, in_waves, source_of, target_of
from kantopt.schema.answers.plan import Binding, Eviction, Move, Plan, Wave
from kantopt.schema.hints import plural


def action_lines(plan: Plan) -> str:
    """One line per action, in the order of the waves: ``bind JOB/PODSET NODE xN``."""
    lines = []
    for _, action in in_waves(plan):
        kind, source, target = _parts(action)
        if (named := kind_of(action)) == "restart":
            kind, source = named, ""
        where = " ".join(place for place in (source, target) if place)
        lines.append(f"{kind} {action.job}/{action.pod_set} {where} x{action.count}")
    return in_lines(lines)


def actions_table(plan: Plan, most: int | None = MOST) -> Iterator[Block]:
    """Actions by wave, those on one pod set together; of more than ``most`` those that matter most.

    These are the ones that disturb, evictions before moves, of the highest priorities and on the
    most pods.
    """
    by_id, why = actions_of(plan), purposes(plan)
    ranks = priority_words(plan)
    groups: dict[_Group, list[PlanAction]] = {}
    waves = {wave.id: wave for wave in plan.waves}
    for wave in plan.waves:
        for action in (by_id[identity] for identity in wave.actions):
            group = (wave.id, kind_of(action), action.job, action.pod_set)
            groups.setdefault(group, []).append(action)
    if not groups:
        return
    cut = most is not None and len(groups) > most
    pods = {group: sum(action.count for action in each) for group, each in groups.items()}

    def matters(group: _Group) -> tuple[int, ...]:
        _, kind, job, _ = group
        return _LEAST.get(kind, 0), ranks[job][0], -pods[group]

    def row(group: _Group) -> tuple[str, ...]:
        (number, kind, job, pod_set), actions = group, groups[group]
        return (
            *(str(number), _briefly_after(waves[number]), kind, f"{job}/{pod_set}"),
            *(str(pods[group]), where(kind, actions, "few" if cut else "some")),
            ", ".join(dict.fromkeys(why.get(action.id, "-") for action in actions)),
        )

    first = set(sorted(groups, key=matters)[:most]) if cut else groups.keys()
    shown = [row(group) for group in groups if group in first]
    title = _waves_title(plan)
    if cut:
        title += f": the {len(shown)} that matter most of {len(groups)}"
    heads = ("WAVE", "AFTER", "ACTION", "JOB/PODSET", "PODS", "NODES", "FOR")
    # Columns that say nothing of any row are left out.
    chain = _longest_chain(plan) == len(plan.waves)
    kept = [i for i, head in enumerate(heads) if not (head == "AFTER" and chain)]
    if all(cells[-1] == "-" for cells in shown):
        kept.remove(len(heads) - 1)
    yield Table(
        title,
        tuple(heads[i] for i in kept),
        tuple(tuple(cells[i] for i in kept) for cells in shown),
        frozenset(kept.index(i) for i in (0, 4)),
        tuple(_STYLES.get(cells[2], "") for cells in shown),
    )
    if cut:
        yield and_more([(group[1], pods[group]) for group in groups if group not in first])


Show = Literal["all", "some", "few"]
_Item = TypeVar("_Item")
_Group = tuple[int, str, str, str]
"""Wave, kind, job and pod set of actions that are told together."""
_PLACES = 6
"""Nodes named of a pod set's many."""
_WIDTH, _NAMED = 34, 22
"""Letters that they take where the table is long, all of them and the first few: no row wraps."""
_LEAST = {"move": 1, "restart": 1, "stop-over": 1, "bind": 2, "fill": 3}
_STYLES: dict[str, Style] = {
    "evict": "bad",
    "move": "warn",
    "restart": "warn",
    "stop-over": "warn",
    "bind": "good",
}


def and_more(rows: Sequence[tuple[str, int]]) -> Paragraph:
    """Count the actions that a table leaves out, each a kind and its pods."""
    counts: dict[str, list[int]] = {}
    for kind, pods in rows:
        counts.setdefault(kind, []).append(pods)
    texts = [f"{len(p)} {kind} ({plural(sum(p), 'pod')})" for kind, p in sorted(counts.items())]
    return Paragraph(f"and {len(rows)} more: {', '.join(texts)} (-o wide lists all)", "dim")


def _briefly_after(wave: Wave) -> str:
    """Name the wave that is waited for; several are counted."""
    if len(wave.after) <= 1:
        return _after(wave)
    return f"{len(wave.after)} waves"


def wide_actions_table(plan: Plan) -> Iterator[Table]:
    """Every action with its pods, budgets and devices."""
    actions, why = actions_of(plan), purposes(plan)
    rows = []
    for wave in plan.waves:
        after = _after(wave)
        for action in (actions[identity] for identity in wave.actions):
            kind, source, target = _parts(action)
            if isinstance(action, Move):
                kind = f"{kind_of(action)} ({action.mode})"
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
                    why.get(action.id, "-"),
                    ", ".join(budgets) or "-",
                    joined(pod.name for pod in action.pods) or "-",
                )
            )
    if rows:
        names = "WAVE AFTER ID ACTION JOB/PODSET PODS FROM TO FOR BUDGETS NAMES"
        yield Table("ACTIONS", tuple(names.split()), tuple(rows), frozenset({0, 5}))


def _parts(action: PlanAction) -> tuple[str, str, str]:
    """Kind, place left and place taken of an action."""
    if isinstance(action, Binding):
        kind = "fill" if action.leftover else "bind"
    else:
        kind = "evict" if isinstance(action, Eviction) else "move"
    return kind, on_devices(source_of(action)), on_devices(target_of(action))


def kind_of(action: PlanAction) -> str:
    """Say what happens to pods; moves that stop over, or lead nowhere else, have their own word."""
    kind, source, target = _parts(action)
    if isinstance(action, Move) and action.stopover:
        return "stop-over"
    return "restart" if kind == "move" and source == target else kind


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
    widest = max(len(wave.actions) for wave in plan.waves)
    if widest > MOST:
        title += f" of up to {widest}"
    if chain == waves:
        return f"{title}, one after the other"
    if chain == 1:
        return f"{title}, in any order"
    return f"{title}, at most {chain} one after the other"


def where(kind: str, group: Sequence[PlanAction], show: Show = "some") -> str:
    """Write where a pod set's pods leave or arrive: all, some, or as few as fit a cell."""
    ends = [(*_parts(action)[1:], action.count) for action in group]
    if kind in ("move", "stop-over"):
        return _in_short(_routes(ends), ", ".join, show)
    return _in_short([(source or target, count) for source, target, count in ends], places, show)


def _routes(ends: Sequence[tuple[str, str, int]]) -> list[str]:
    """Write moves, those to one place together."""
    routes: dict[tuple[str, int], list[str]] = {}
    for source, target, count in ends:
        routes.setdefault((target, count), []).append(source)
    return [
        f"{joined(sources)} -> {target}"
        + (f" x{count}" if count > 1 else "")
        + (" each" if count > 1 and len(sources) > 1 else "")
        for (target, count), sources in routes.items()
    ]


def _in_short(items: Sequence[_Item], written: Callable[[Sequence[_Item]], str], show: Show) -> str:
    """Write items, or the first few and how many more there are."""
    fits = show == "all" or len(items) <= _PLACES + 1
    if fits and (show != "few" or len(written(items)) <= _WIDTH):
        return written(items)
    most = min(_PLACES, len(items) - 1)
    while show == "few" and most > 1 and len(written(items[:most])) > _NAMED:
        most -= 1
    return f"{written(items[:most])} and {len(items) - most} more" if most else written(items)
