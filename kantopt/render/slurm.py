"""A plan as a shell script of ``scontrol`` and ``squeue`` calls, for Slurm.

The script is ``slurm.sh`` behind a few lines that are made here: what of the plan Slurm can be
held to, job by job, in steps, and what is left to the reader. Jobs of Slurm leave and start as a
whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kantopt.errors import BadDataError, Problem
from kantopt.render.shell import comment, one_line, seconds_of, word
from kantopt.render.steps import Actions, Step, check_not_in_vain, kind_of, towards
from kantopt.render.targets import Asked, Rendered
from kantopt.schema.answers.actions import PlanAction, nodes_of
from kantopt.schema.answers.plan import Binding, Eviction, Move, Plan
from kantopt.schema.hints import plural, quote
from kantopt.schema.hostlist import compress_hostlist
from kantopt.schema.jobs import Job

_UID = re.compile(r"(\d{1,10}(?:_\d{1,10})?)@(\d{1,12})", re.ASCII)
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
SLURM_SCRIPT = Path(__file__).with_name("slurm.sh")
"""What follows any plan."""


@dataclass(slots=True)
class _Acts:
    """What a plan does with one job."""

    job: Job | None
    waves: list[int] = field(default_factory=list)
    actions: list[PlanAction] = field(default_factory=list)

    def pods(self) -> int:
        """Count its pods that the plan acts on."""
        return sum(action.count for action in self.actions)

    def why_not(self) -> str:
        """Say why Slurm cannot be held to this; nothing: it can."""
        job = self.job
        if job is None or _UID.fullmatch(job.uid) is None:
            return "the plan does not know its id and when it was submitted"
        if any("+" in item.name for item in job.pod_sets):
            return "its components would have to be told apart"
        kinds = {kind_of(action) for action in self.actions}
        if len(kinds) > 1:
            return "it leaves and starts in one plan"
        if kinds == {"bindings"}:
            nodes = [action.node for action in self.actions if isinstance(action, Binding)]
            # Which nodes it gets can be asked for, not how many of its tasks each of them.
            if len(set(nodes)) < self.pods() and len(set(nodes)) > 1:
                return "two of its tasks share a node, and it has others"
            return ""
        if self.pods() < job.running:
            return f"it leaves as a whole, {plural(job.running, 'task')}"
        moves = [action for action in self.actions if isinstance(action, Move)]
        if any(move.mode == "live" for move in moves):
            return "Slurm moves nobody live"
        if moves and self.pods() > job.running:
            return "it would move more than once"
        return ""

    def limited(self) -> str:
        """Return its id if the plan has counted a limit of its QOS; else nothing."""
        match = _UID.fullmatch(self.job.uid) if self.job and self.job.queue_name else None
        return match[1] if match else ""

    def lines(self, step: int) -> Iterator[tuple[int, str]]:
        """Yield what the script is told: a step, and the words of a line for it."""
        job = self.job
        match = _UID.fullmatch("" if job is None else job.uid)
        assert match is not None
        leaves = [nodes_of(action)[0] for action in self.actions]
        comes = [a.to_node for a in self.actions if isinstance(a, Move)]
        who = f"{match[1]} {match[2]}"
        if isinstance(self.actions[0], Binding):
            yield step, f"{step} start {who} {_hosts(leaves)}"
            return
        yield step, f"{step} {'leave' if comes else 'evict'} {who} {_hosts(leaves)}"
        if comes:
            yield step, f"{step} return {who} {_hosts(comes)}"


def render(plan: Plan, asked: Asked) -> Rendered:
    """Render a plan as a script for a POSIX shell.

    Parameters
    ----------
    plan
        A plan for a cluster that was read from Slurm: jobs bear id and time of submission.
    asked
        Whether to evict also for jobs that Slurm cannot be held to.

    Raises
    ------
    UsageError
        If victims would leave for such a job and nobody said that they shall.
    BadDataError
        If a node has a name that no node of Slurm can have.
    """
    actions = Actions(plan)
    acts: dict[str, _Acts] = {}
    for wave, action in actions:
        one = acts.setdefault(action.job, _Acts(actions.jobs.get(action.job)))
        one.waves.append(wave)
        one.actions.append(action)
    why = {name: one.why_not() for name, one in acts.items()}
    _spread(actions.after, acts, why)
    check_not_in_vain(list(_steps(acts, why)), asked, "slurm")
    level = _levels(actions.after)
    lines = sorted(
        line
        for name, one in acts.items()
        if not why[name]
        for line in one.lines(_step_of(one, level))
    )
    text = _text(plan, acts, why, [text for _, text in lines])
    left = [f"{name}, {reason}" for name, reason in why.items() if reason]
    if not left:
        return Rendered(text, ())
    told = f"For slurm: {len(left)} of {len(acts)} jobs left to you, such as {left[0]}."
    return Rendered(text, (told,))


def _spread(
    after: Mapping[int, Sequence[int]], acts: Mapping[str, _Acts], why: dict[str, str]
) -> None:
    """Leave to the reader also what waits for something that is left to the reader."""
    of_wave: dict[int, set[str]] = {}
    for name, one in acts.items():
        for wave in one.waves:
            of_wave.setdefault(wave, set()).add(name)
    cause: dict[int, str] = {}
    for wave, before in after.items():
        left = [name for each in before for name in sorted(of_wave.get(each, ())) if why[name]]
        found = left[:1] or [cause[each] for each in before if each in cause][:1]
        if found:
            cause[wave] = found[0]
            for name in of_wave.get(wave, ()):
                why[name] = why[name] or f"it waits for {found[0]}, which is left to you"


def _levels(after: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Number waves so that those of one number wait for none of the same: the steps."""
    level: dict[int, int] = {}
    for wave, before in after.items():
        level[wave] = 1 + max((level[each] for each in before), default=0)
    return level


def _step_of(one: _Acts, level: Mapping[int, int]) -> int:
    """Victims leave with the first of their pods; who starts waits for the last."""
    choose = max if isinstance(one.actions[0], Binding) else min
    return choose(level[wave] for wave in one.waves)


def _steps(acts: Mapping[str, _Acts], why: Mapping[str, str]) -> Iterator[Step]:
    for name, one in acts.items():
        for wave, action in zip(one.waves, one.actions, strict=True):
            heir = action.for_job if isinstance(action, Eviction) else None
            done = () if why[name] else ({"job": name},)
            yield Step(wave, kind_of(action), name, action.count, done, why[name], heir)


def _hosts(names: Sequence[str]) -> str:
    """Return how many nodes there are, and their list."""
    for name in names:
        if _NODE.fullmatch(name) is None:
            raise BadDataError([Problem("the plan", "", quote(name), "the name of a Slurm node")])
    return f"{len(set(names))} {compress_hostlist(names)}"


def _text(
    plan: Plan, acts: Mapping[str, _Acts], why: Mapping[str, str], lines: Sequence[str]
) -> str:
    kinds = [line.split()[1] for line in lines]
    counts = [(kinds.count(kind), text) for kind, text in _SAID.items()]
    what = ", ".join(text.format(n, "" if n == 1 else "s") for n, text in counts if n)
    advised = {name: reason for name, reason in why.items() if reason}
    what = (what or "nothing to do") + (f"; {len(advised)} more left to you" if advised else "")
    taken = seconds_of(plan.metadata.snapshot.captured_at)
    short = re.sub(r"[^0-9a-f]", "", plan.metadata.plan_id.partition(":")[2])[:12]
    head = [
        "#!/bin/sh",
        comment(f"Plan {plan.metadata.plan_id} for Slurm: {what}."),
        "# It asks Slurm whether the plan still fits before it changes anything; --dry-run says",
        "# what it would do. It goes on where a run before it was ended; --help tells the rest.",
    ]
    for name, reason in advised.items():
        said = "; ".join(f"{plural(a.count, 'task')} {towards(a)}" for a in acts[name].actions)
        head.append(comment(f"Left to you: {name}, {said}: {reason}."))
    drained = _emptied(plan, kinds)
    if drained:
        head.append(comment(f"Drains first, and leaves drained: {drained}."))
    jobs = sorted({line.split()[2] for line in lines})
    limited = sorted({one.limited() for one in acts.values()} - {""})
    steps = sorted({int(line.split()[0]) for line in lines})
    head += [
        f"what={word(what)}",
        f"plan_id={word(short or 'plan')}",
        f"reservation={word('kantopt_' + (short or 'plan'))}",
        f"cluster={word(one_line(plan.metadata.snapshot.name))}",
        f"taken={word('' if taken is None else str(taken))}",
        f"jobs={word(','.join(jobs))}",
        f"limited={word(','.join(limited))}",
        f"steps={word(' '.join(map(str, steps)))}",
        f"drained={word(drained)}",
        "# Step, action, job, when it was submitted, number and list of nodes.",
        f"plan={word(chr(10).join(lines))}",
        "",
    ]
    return "\n".join(head) + "\n" + SLURM_SCRIPT.read_text(encoding="utf-8")


def _emptied(plan: Plan, kinds: Sequence[str]) -> str:
    """Return the list of nodes that the plan empties, if the script sends anybody away."""
    leaves = not {"evict", "leave"}.isdisjoint(kinds)
    return _hosts(plan.model.drain).partition(" ")[2] if leaves and plan.model.drain else ""


_SAID = {
    "evict": "{} job{} requeued",
    "leave": "{} job{} moved",
    "start": "{} job{} started where planned",
}
