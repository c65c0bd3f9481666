"""An explanation for people: the verdict, the nodes, what is in the way, what would help."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kantopt.report.actions import and_more, kind_of, where
from kantopt.report.blocks import Block, Listing, Paragraph, Style, Table
from kantopt.report.brief import MOST, mistyped_blocks, warnings_blocks
from kantopt.report.names import joined
from kantopt.report.size import Size, size_blocks
from kantopt.report.units import in_unit, tier_label
from kantopt.schema.answers.actions import PlanAction, actions_of
from kantopt.schema.answers.explanation import (
    Conflict,
    ConflictItem,
    Elsewhere,
    Explanation,
    NodesOfPodSet,
    Remedy,
    Steps,
    Verdict,
    WhatIf,
)
from kantopt.schema.hints import plural

_STYLES: dict[str, Style] = {
    "FITS_NOW": "good",
    "FITS_AFTER_MOVING": "good",
    "FITS_AFTER_PREEMPTING": "good",
    "RUNS": "good",
    "NEVER": "bad",
}


def explanation_blocks(
    told: Explanation, *, wide: bool = False, size: Size | None = None, notes: Collection[str] = ()
) -> list[Block]:
    """Lay out an explanation; ``wide`` names every node of every reason, and says what was read.

    Of one with a change, what the change brings is all that is asked, unless ``wide``.
    """
    if told.what_if is not None and not wide:
        notes_blocks = warnings_blocks(told.notes, notes, wide=wide)
        return [
            *_headline(told),
            *mistyped_blocks(told.notes),
            *_what_if(told.what_if, wide),
            *notes_blocks,
        ]
    return [
        *_headline(told),
        *mistyped_blocks(told.notes),
        *size_blocks(size, wide=wide),
        *_answers(told),
        *_plan(told.plan, f"PLAN{_for_whom(told.verdict)}, verified step by step", wide),
        *_nodes(told.pod_sets, wide),
        *_what_if(told.what_if, wide),
        *_elsewhere(told.elsewhere, wide),
        *_conflict(told.conflict, wide),
        *_remedies(told.remedies, told.others_pending, wide),
        *_alone(told),
        *warnings_blocks(told.notes, notes, wide=wide),
    ]


def explanation_line(told: Explanation) -> str:
    """Return the verdict in a word, for scripts."""
    return f"{told.verdict.status}\n"


def _for_whom(verdict: Verdict) -> str:
    """Tell a plan for the job alone from what a plan for all that waits does."""
    return " for it alone" if verdict.status == "FITS_ALONE" else ""


def _headline(told: Explanation) -> Iterator[Block]:
    verdict = told.verdict
    yield Paragraph(verdict.message, _STYLES.get(verdict.status, "warn"))
    pods = []
    if told.pending_pods:
        pods.append(f"{plural(told.pending_pods, 'pod')} pending")
    if told.running_pods:
        pods.append(f"{plural(told.running_pods, 'pod')} running")
    if told.nominated_pods:
        pods.append(f"{plural(told.nominated_pods, 'pod')} nominated")
    yield Paragraph(f"job {told.job}, priority {told.priority}: {', '.join(pods)}.", "dim")


def _answers(told: Explanation) -> Iterator[Block]:
    """The questions that the verdict rests on."""
    answers = told.verdict.answers
    if not answers:
        return
    rows = tuple((answer.question, answer.answer, answer.message) for answer in answers)
    alone = " ALONE" if told.verdict.status == "FITS_ALONE" else ""
    yield Table(f"DOES IT FIT{alone}?", ("ASKED", "ANSWER", "WHICH MEANS"), rows)


def _plan(plan: Steps | None, title: str, wide: bool) -> Iterator[Block]:
    """What is done, wave by wave; of much, where the job starts and the first of the rest."""
    if plan is None:
        return
    rows = list(action_rows(plan, wide))
    others = [row for row in rows if row[1] not in ("bind", "fill")]
    left = [] if wide else others[max(0, MOST - (len(rows) - len(others))) :]
    cells = tuple(
        (str(wave), kind, name, str(pods), where)
        for wave, kind, name, pods, where in rows
        if (wave, kind, name, pods, where) not in left
    )
    columns = ("WAVE", "ACTION", "JOB/PODSET", "PODS", "NODES")
    yield Table(title, columns, cells, frozenset({0, 3}))
    if left:
        yield and_more([(kind, pods) for _, kind, _, pods, _ in left])


def action_rows(plan: Steps, wide: bool = True) -> Iterator[tuple[int, str, str, int, str]]:
    """Wave, action, pod set, pods and places; the actions of a wave on one pod set together.

    Where the job starts is said in full; of many moves of a pod set the first, unless ``wide``.
    """
    known = actions_of(plan)
    for wave in plan.waves:
        groups: dict[tuple[str, str], list[PlanAction]] = {}
        for item in (known[identity] for identity in wave.actions):
            groups.setdefault((kind_of(item), f"{item.job}/{item.pod_set}"), []).append(item)
        for (kind, name), group in groups.items():
            there = where(kind, group, "some" if kind == "move" and not wide else "all")
            yield wave.id, kind, name, sum(item.count for item in group), there


def _nodes(
    pod_sets: tuple[NodesOfPodSet, ...], wide: bool, title: str = "NODES as things stand"
) -> Iterator[Block]:
    """Histogram of each pod set: in one line as kube-scheduler writes it, or in a table."""
    if not pod_sets:
        return
    if not wide:
        lines = tuple(
            line
            for item in pod_sets
            for line in (
                f"{item.pod_set}: {item.message}" if len(pod_sets) > 1 else item.message,
                item.free,
            )
            if line
        )
        yield Listing(title, lines)
        return
    rows = [
        row
        for item in pod_sets
        for row in (
            (item.pod_set, str(item.available), "available", "-", "-"),
            *(
                (item.pod_set, str(out.count), out.reason, out.rule, joined(out.nodes))
                for out in item.exclusions
            ),
        )
    ]
    columns = ("PODSET", "NODES", "REASON", "RULE", "NAMES")
    yield Table(title, columns, tuple(rows), frozenset({1}))


def _what_if(change: WhatIf | None, wide: bool) -> Iterator[Block]:
    """What a change would bring."""
    if change is None:
        return
    yield Listing(f"WHAT IF {', '.join(change.edits)}", (change.verdict.message,))
    if change.differences:
        rows = tuple(
            (tier_label(row.name), _number(row.before, row.unit), _number(row.after, row.unit))
            for row in change.differences
        )
        yield Table("DIFFERENCE", ("WHAT", "AS IT IS", "WITH THE CHANGE"), rows)
    else:
        yield Paragraph("It changes nothing for the job.", "dim")
    title = f"PLAN{_for_whom(change.verdict)} with the change, verified step by step"
    yield from _plan(change.plan, title, wide)


def _number(text: str, unit: str) -> str:
    return in_unit(int(text), unit) if unit and text.lstrip("-").isdecimal() else text


def _elsewhere(parts: tuple[Elsewhere, ...], wide: bool) -> Iterator[Block]:
    """Where a running job is, what keeps it there, and how good other places are."""
    for part in parts:
        yield Listing(f"POD SET {part.pod_set} is on", (joined(part.places),))
        yield from _nodes((part.nodes,), wide, "NODES, if it were not there")
        if part.pins:
            rows = tuple((pin.rule, pin.subject, pin.message) for pin in part.pins)
            yield Table("PINS", ("RULE", "SUBJECT", "AMOUNT"), rows)
        if part.alternatives:
            others = tuple(
                (
                    joined(item.places),
                    item.verdict,
                    item.objective.replace("milli-GPU", "GPUs") or "-",
                    _number(item.before, item.unit) or "-",
                    _number(item.after, item.unit) or "-",
                )
                for item in part.alternatives
            )
            columns = ("INSTEAD ON", "IS", "BY", "HERE", "THERE")
            yield Table("OTHER PLACES, best first", columns, others, frozenset({3, 4}))


def _conflict(conflict: Conflict | None, wide: bool) -> Iterator[Block]:
    """The rules that leave no place, and how much of that is proved."""
    if conflict is None:
        return
    items = conflict.items if wide else tuple(_in_short(conflict))
    rows = tuple((item.rule, _subject(item, wide), item.message) for item in items)
    title = f"CONFLICT: why it does not fit {conflict.question}"
    yield Table(title, ("RULE", "SUBJECT", "AMOUNT"), rows)
    yield Paragraph(_minimality(conflict), "dim")


def _in_short(conflict: Conflict) -> Iterator[ConflictItem]:
    """Of each rule the lines about most nodes and jobs, and what else it holds for in one.

    Fewer where it is not known which rules it takes: then there are many.
    """
    most = _LINES if conflict.minimal_rules else _LINES - 1
    for rule in conflict.rules:
        items = [item for item in conflict.items if item.rule == rule]
        if len(items) <= most:
            yield from items
            continue
        items.sort(key=lambda item: -len(item.nodes) - len(item.jobs))
        yield from items[: most - 1]
        rest = items[most - 1 :]
        nodes = tuple(dict.fromkeys(name for item in rest for name in item.nodes))
        jobs = tuple(dict.fromkeys(name for item in rest for name in item.jobs))
        what = plural(len(nodes), "node") if nodes else plural(len(jobs), "job")
        yield ConflictItem(
            rule=rule,
            subject=what if nodes or jobs else ", ".join(item.subject for item in rest),
            message=f"{len(rest)} lines more: -o wide",
            nodes=nodes,
            jobs=jobs,
        )


def _minimality(conflict: Conflict) -> str:
    if conflict.minimal_rules and conflict.minimal_items:
        if len(conflict.items) == 1:
            return "Proved: this line leaves no place even with all other rules off."
        return (
            "Proved: these lines leave no place even with all other rules off; "
            "take away any one of them and there is a place."
        )
    rules = "this rule leaves" if len(conflict.rules) == 1 else "these rules leave"
    text = f"Proved: {rules} no place even with all others off"
    if conflict.minimal_rules:
        return (
            f"{text}; take away any one of them and there is a place. "
            "Not every line was tried by itself."
        )
    return f"{text}. Whether each of them is needed was not proved."


def _subject(item: ConflictItem, wide: bool) -> str:
    """Subject with the names that it stands for, if it says only their number."""
    if len(item.nodes) > 1:
        return f"{item.subject}: {_few(item.nodes, wide)}"
    if len(item.jobs) > 1 and not item.subject.startswith("job "):
        return f"{item.subject}: {_few(item.jobs, wide)}"
    return item.subject


def _few(names: tuple[str, ...], wide: bool) -> str:
    """Names, but no more than a line of them."""
    text = joined(names)
    if wide or len(text) <= _WIDTH:
        return text
    kept = min(_NAMES, len(names) - 1)
    return f"{joined(names[:kept])} and {len(names) - kept} more"


_LINES = 3
"""Lines of a conflict about one rule."""
_NAMES = 6
"""Nodes or jobs that are named where all names are too long."""
_WIDTH = 60
"""Characters of names that are not too long."""
_EDIT = 120
"""Characters of a change that is shown."""


def _remedies(remedies: tuple[Remedy, ...], others: int, wide: bool) -> Iterator[Block]:
    """What helps; beside what else waits as well, where that was asked and is not so of all."""
    if not remedies:
        return
    cost = "COST for it alone" if others else "COST"
    each = ", each enough by itself" if len(remedies) > 1 else ""
    if all(item.together == "placed" for item in remedies):
        rows = tuple((item.message, item.cost, _edit(item, wide)) for item in remedies)
        title = f"REMEDIES{each}, tried and verified"
        yield Table(title, ("DO THIS", cost, "TRY IT: --what-if"), rows)
        return
    longer = tuple(
        (item.message, item.cost, _together(item), _edit(item, wide)) for item in remedies
    )
    title = f"REMEDIES for it alone{each}, tried and verified"
    columns = ("DO THIS", cost, "BESIDE ALL THAT WAITS", "TRY IT: --what-if")
    yield Table(title, columns, longer)


def _alone(told: Explanation) -> Iterator[Block]:
    """Say that plan and costs are those of one job, where that is not said already."""
    said = told.verdict.status == "FITS_ALONE" or any(r.together != "placed" for r in told.remedies)
    plan = told.plan
    disturbs = plan is not None and (plan.evicted_pods or plan.moved_pods)
    if told.others_pending and (disturbs or told.remedies) and not said:
        others = plural(told.others_pending, "other job")
        wait = f"{others} {'waits' if told.others_pending == 1 else 'wait'}"
        text = f"This is for the job alone: {wait}, and a plan for all (kantopt plan) may disturb"
        yield Paragraph(f"{text} more, or others.", "dim")


def _edit(remedy: Remedy, wide: bool) -> str:
    """The change as it is tried out, unless it fills lines."""
    return (remedy.edit or "-") if wide or len(remedy.edit) <= _EDIT else "-o wide shows it"


def _together(remedy: Remedy) -> str:
    """What becomes of the job with a remedy in a plan for all that waits."""
    if remedy.together == "placed":
        return "placed"
    if remedy.together == "open":
        return "not asked"
    return f"waits behind {plural(len(remedy.behind), 'job')}" if remedy.behind else "waits"
