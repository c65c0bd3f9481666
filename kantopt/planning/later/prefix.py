"""The longest legal prefix of a plan: which steps can still be taken, and why others cannot."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kantopt.problem.actions import Action, Wave
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.schema.rule_kinds import About, rules_about
from kantopt.verify.replay import replay
from kantopt.verify.step import Violation

Cause = tuple[str, str]
"""A rule, or a word where none is broken, and the cause in words."""
Outline = tuple[int, tuple[int, ...], tuple[str, ...]]
"""A wave: its number, the waves it waits for, the ids of its actions."""

SHORT = 40
"""Plans up to so many steps are cut again without single steps, to see whether more others stay."""
_TOGETHER = (*rules_about(About.GANG, About.DOMAINS), Rule.GANG_VICTIMS)
"""Rules on a job as a whole: what one wave leaves wrong, a later one may put right."""
_JOB = re.compile(r"\bjob (\S+?):?(?= |$)")


@dataclass(frozen=True, slots=True)
class LegalPrefix:
    """What is left of a plan, and why the rest is not."""

    waves: tuple[Wave, ...]
    causes: Mapping[str, Cause]
    """Of each step that is cut, by its id."""
    moot: frozenset[str]
    """Of those, the ones that nothing had to wait for."""

    @property
    def length(self) -> int:
        """Number of steps that are left."""
        return sum(len(wave.actions) for wave in self.waves)


@dataclass(frozen=True, slots=True)
class Steps:
    """What is known of a plan's steps before any rule is looked at, by id."""

    actions: Mapping[str, Action]
    """Those that name nothing that is missing."""
    done: frozenset[str]
    """Those that have been taken already."""
    causes: Mapping[str, Cause]
    """Why the others cannot be taken."""
    moot: frozenset[str]
    """Of those, the ones that nothing has to wait for."""

    def without(self, causes: Mapping[str, Cause], moot: Iterable[str] = ()) -> Steps:
        """Return the same with more steps that cannot be taken."""
        return replace(self, causes={**self.causes, **causes}, moot=self.moot.union(moot))


def longest_legal_prefix(
    instance: Instance,
    outline: Sequence[Outline],
    steps: Steps,
    over: Callable[[], bool] = lambda: False,
) -> LegalPrefix:
    """Keep as many steps as are legal on a cluster together, in the order of the plan.

    A wave is kept in part if some of its steps are not legal; then nothing that waits for it is
    kept. Steps are chosen so that none of the others can be added, nor, in short plans, more than
    one of them in place of another.

    Parameters
    ----------
    instance
        The question of today.
    outline
        The plan's waves, in a legal order.
    steps
        What is known of the steps.
    over
        Whether the time is up: then what is known to be legal by then is kept, and no more.
    """
    best = legal_prefix(instance, outline, steps, over)
    if len(steps.actions) > SHORT:
        return best
    for identity in _rivals(best, steps.actions):
        if over():
            break
        # A step may take the room of several others: without it there may be more.
        instead = {identity: ("room", "takes the room of more steps than one")}
        other = legal_prefix(instance, outline, steps.without(instead), over)
        if other.length > best.length:
            best = other
    return best


def _rivals(prefix: LegalPrefix, actions: Mapping[str, Action]) -> list[str]:
    """Steps that are kept on nodes of others that are not, though all that these name is there."""
    lost = {n for a in prefix.causes if a in actions for n in _nodes(actions[a])}
    kept = [action for wave in prefix.waves for action in wave.actions]
    return [action.id for action in kept if not lost.isdisjoint(_nodes(action))]


def _nodes(action: Action) -> set[int]:
    return {spot.node for spot in (action.source, action.target) if spot is not None}


def legal_prefix(
    instance: Instance,
    outline: Sequence[Outline],
    steps: Steps,
    over: Callable[[], bool] = lambda: False,
) -> LegalPrefix:
    """Keep steps as they come; then take those back that have no purpose after all."""
    first: dict[str, Cause] = {}  # once evictions are gone, others lack room and not what they said
    while True:
        attempt = _Attempt(instance, outline, steps, over)
        attempt.take(range(len(outline)))
        blamed = attempt.blamed()
        first = {**attempt.causes, **first}
        if not blamed:
            causes = {a: first[a] for a in attempt.causes}
            return LegalPrefix(attempt.waves(), causes, steps.moot)
        purposeless = [
            identity
            for identity, (rule, _) in blamed.items()
            if steps.actions[identity].kind == "evict" and rule == Rule.PRIORITY
        ]
        steps = steps.without(blamed, purposeless)


class _Attempt:
    """One way through the plan, wave by wave."""

    def __init__(
        self,
        instance: Instance,
        outline: Sequence[Outline],
        steps: Steps,
        over: Callable[[], bool],
    ) -> None:
        self._instance = instance
        self._over = over
        self._outline = outline
        self._steps = steps
        self.causes = dict(steps.causes)
        self._kept: dict[int, list[Action]] = {}
        self._whole: set[int] = set()
        """Waves of which nothing is missing that others would have to wait for."""
        self._end = 0
        """How many waves have been looked at."""
        self._jobs = [
            {self._job(a) for a in ids if a in steps.actions and a not in steps.causes}
            for _, _, ids in outline
        ]

    def _job(self, identity: str) -> str:
        return self._instance.job_of(self._steps.actions[identity].podset).name

    def take(self, chunk: range) -> None:
        """Take some waves: all at once if that is legal, else halve until it is known what is not.

        Most of a plan is legal most of the time, and judging a wave alone costs as much as judging
        them all.
        """
        if self._over():
            return
        causes, kept, whole = dict(self.causes), dict(self._kept), set(self._whole)
        self._end = chunk.stop
        opened = [self._open(i) for i in chunk]
        if not any(opened) or not self._violations():
            return
        self.causes, self._kept, self._whole = causes, kept, whole
        if len(chunk) > 1:
            middle = (chunk.start + chunk.stop) // 2
            self.take(range(chunk.start, middle))
            self.take(range(middle, chunk.stop))
        else:
            self._end = chunk.stop
            number, _, ids = self._outline[chunk.start]
            self._kept[number] = []
            open_ids = [a for a in ids if a in self._steps.actions and a not in self.causes]
            self._add(number, self._units([self._steps.actions[a] for a in open_ids]))
            self._close(number, ids)

    def _open(self, index: int) -> list[Action]:
        """Keep what is left of a wave, unless it waits for one of which something is missing."""
        number, after, ids = self._outline[index]
        known = self._steps
        broken = next((w for w in after if w not in self._whole), None)
        open_ids = [a for a in ids if a in known.actions and a not in self.causes]
        if broken is not None:
            cause = ("after", f"waits for {self._missing(broken)}")
            self.causes.update(dict.fromkeys(open_ids, cause))
            return []
        self._kept[number] = [known.actions[a] for a in open_ids]
        self._close(number, ids)
        return self._kept[number]

    def _close(self, number: int, ids: Sequence[str]) -> None:
        if all(a not in self.causes or a in self._steps.moot for a in ids):
            self._whole.add(number)

    def _missing(self, number: int) -> str:
        """Name a step that is cut and for which all that waits for a wave has to wait."""
        after, ids = next((after, ids) for wave, after, ids in self._outline if wave == number)
        for a in ids:
            if a in self.causes and a not in self._steps.moot:
                return f"{a} in wave {number}"
        return self._missing(next(w for w in after if w not in self._whole))

    def _units(self, actions: Sequence[Action]) -> list[list[Action]]:
        """Steps on one job in one wave: a gang is bound as a whole or not at all."""
        units: dict[int, list[Action]] = {}
        for action in actions:
            units.setdefault(self._instance.podsets[action.podset].job, []).append(action)
        return list(units.values())

    def _add(self, number: int, units: list[list[Action]], whole: Violation | None = None) -> None:
        """Add what is legal with all that has been added; halve until it is known what is not.

        ``whole`` is what is wrong with all steps on a job together, where one is tried alone.
        """
        actions = [action for unit in units for action in unit]
        if not actions:
            return
        kept = self._kept[number]
        self._kept[number] = [*kept, *actions]
        found = self._violations()
        if not found:
            return
        self._kept[number] = kept
        if len(units) > 1:
            half = len(units) // 2
            self._add(number, units[:half])
            self._add(number, units[half:])
        elif len(actions) > 1:
            for action in actions:
                self._add(number, [[action]], found[0])
        else:
            alone = found[0]
            cause = whole if whole is not None and alone.rule in _TOGETHER else alone
            self.causes[actions[0].id] = _cause(cause)

    def _violations(self) -> list[Violation]:
        """What is wrong so far and cannot be put right by what is still to come."""
        violations, _ = replay(self._instance, self.waves())
        return [v for v in violations if not self._may_come_right(v)]

    def _may_come_right(self, violation: Violation) -> bool:
        if violation.rule in (Rule.PRIORITY, Rule.REQUIRED):
            return True
        if violation.rule not in _TOGETHER:
            return False
        job = _job_of(violation)
        return any(job in jobs for jobs in self._jobs[self._end :])

    def blamed(self) -> dict[str, Cause]:
        """Steps on one job that have turned out wrong in the end, with the cause.

        One job at a time: of two victims of which either may stay, the other may have to go.
        """
        violations, _ = replay(self._instance, self.waves())
        for violation in violations:
            if violation.rule == Rule.REQUIRED:
                continue
            job, cause = _job_of(violation), _cause(violation)
            only_evictions = violation.rule == Rule.PRIORITY
            mine = [
                action
                for action in self._all()
                if self._instance.job_of(action.podset).name == job
                and (action.kind == "evict" or not only_evictions)
            ]
            if only_evictions and 1 < len(mine) <= SHORT:
                mine = self._needless(mine, violation.subject) or mine
            # Nobody in particular: the last step goes first.
            return {action.id: cause for action in mine or self._all()[-1:]}
        return {}

    def _needless(self, evictions: Sequence[Action], subject: str) -> list[Action]:
        """Find the evictions of one job that have no purpose, where others of it are needed."""
        kept, found = dict(self._kept), list[Action]()
        for action in evictions:
            before = self._kept
            self._kept = {w: [a for a in ids if a is not action] for w, ids in before.items()}
            violations, _ = replay(self._instance, self.waves())
            if any(v.rule not in (Rule.PRIORITY, Rule.REQUIRED) for v in violations):
                self._kept = before
                continue
            found.append(action)
            if not any(v.rule == Rule.PRIORITY and v.subject == subject for v in violations):
                break
        self._kept = kept
        return found

    def _all(self) -> list[Action]:
        return [action for _, actions in sorted(self._kept.items()) for action in actions]

    def waves(self) -> tuple[Wave, ...]:
        """Return the waves with what is kept; those that are left empty are waited for no more."""
        instead: dict[int, tuple[int, ...]] = {}
        waves = []
        ending = self._ending()
        for number, after, ids in self._outline:
            before = _merged(instead.get(w, (w,)) for w in after)
            kept = {action.id: action for action in self._kept.get(number, ())}
            if not kept:
                instead[number] = before
                continue
            chosen = tuple(
                replace(kept[a], stopover=False) if a in ending else kept[a]
                for a in ids
                if a in kept
            )
            waves.append(Wave(number, before, chosen))
        return tuple(waves)

    def _ending(self) -> frozenset[str]:
        """Stop-overs from which, as far as is kept, nobody goes on."""
        onward: Counter[tuple[int, Spot | None]] = Counter()
        for action in self._all():
            if action.kind == "move":
                onward[action.podset, action.source] += action.pods
        ending = set()
        for action in self._all():
            if action.stopover:
                onward[action.podset, action.target] -= action.pods
                if onward[action.podset, action.target] < 0:
                    ending.add(action.id)
        return frozenset(ending)


def _merged(groups: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sorted({number for group in groups for number in group}))


def _cause(violation: Violation) -> Cause:
    return str(violation.rule), f"{violation.subject}: {violation.message}"


def _job_of(violation: Violation) -> str | None:
    match = _JOB.search(violation.subject)
    return None if match is None else match[1]
