"""The longest legal prefix of a plan: which steps can still be taken, and why others cannot."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kantopt.problem.actions import Action, Wave
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.verify.replay import replay
from kantopt.verify.step import Violation

Cause = tuple[str, str]
"""A rule, or a word where none is broken, and the cause in words."""
Outline = tuple[int, tuple[int, ...], tuple[str, ...]]
"""A wave: its number, the waves it waits for, the ids of its actions."""

MOST_SWAPS = 16
"""Steps that are left out to see whether more others come in."""
_TOGETHER = (Rule.GANG, Rule.TOPOLOGY, Rule.SLICES, Rule.GANG_VICTIMS)
"""Rules on a job as a whole: what one wave leaves wrong, a later one may put right."""
_JOB = re.compile(r"\bjob (\S+?):?(?= |$)")


@dataclass(frozen=True, slots=True)
class LegalPrefix:
    """What is left of a plan, and why the rest is not."""

    waves: tuple[Wave, ...]
    causes: Mapping[str, Cause]
    """Of each step that is cut, by its id."""

    @property
    def length(self) -> int:
        """Number of steps that are left."""
        return sum(len(wave.actions) for wave in self.waves)


def longest_legal_prefix(
    instance: Instance,
    outline: Sequence[Outline],
    actions: Mapping[str, Action],
    done: frozenset[str],
    causes: Mapping[str, Cause],
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
    actions
        Steps that name nothing that is gone, by id.
    done
        Steps that have been taken already.
    causes
        Why the other steps cannot be taken.
    """
    best = _legal_prefix(instance, outline, actions, done, causes)
    for identity in _rivals(best, actions)[:MOST_SWAPS]:
        # A step may take the room of several others: without it there may be more.
        instead = {identity: ("room", "takes the room of more steps than one")}
        other = _legal_prefix(instance, outline, actions, done, {**causes, **instead})
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


def _legal_prefix(
    instance: Instance,
    outline: Sequence[Outline],
    actions: Mapping[str, Action],
    done: frozenset[str],
    causes: Mapping[str, Cause],
) -> LegalPrefix:
    """Keep steps as they come; then take those back that have no purpose after all."""
    given = dict(causes)
    purposeless: set[str] = set()
    first: dict[str, Cause] = {}  # once evictions are gone, others lack room and not what they said
    while True:
        attempt = _Attempt(instance, outline, actions, done, given, frozenset(purposeless))
        blamed = attempt.blamed()
        first = {**attempt.causes, **first}
        if not blamed:
            return LegalPrefix(attempt.waves(), {a: first[a] for a in attempt.causes})
        for identity, cause in blamed.items():
            given[identity] = cause
            if actions[identity].kind == "evict" and cause[0] == Rule.PRIORITY:
                purposeless.add(identity)


class _Attempt:
    """One way through the plan, wave by wave."""

    def __init__(
        self,
        instance: Instance,
        outline: Sequence[Outline],
        actions: Mapping[str, Action],
        done: frozenset[str],
        given: Mapping[str, Cause],
        purposeless: frozenset[str],
    ) -> None:
        self._instance = instance
        self._outline = outline
        self._actions = actions
        self.causes = dict(given)
        self._kept: dict[int, list[Action]] = {}
        self._whole: set[int] = set()
        """Waves of which every step is kept or done, or had a purpose only in what was cut."""
        self._to_come = Counter(
            instance.job_of(actions[a].podset).name
            for _, _, ids in outline
            for a in ids
            if a in actions and a not in given
        )
        for number, after, ids in outline:
            broken = next((w for w in after if w not in self._whole), None)
            open_ids = [a for a in ids if a not in done and a not in self.causes]
            if broken is not None:
                missing = self._missing(broken)
                for a in open_ids:
                    self.causes[a] = ("after", f"waits for {missing} in wave {broken}")
                continue
            mine = [actions[a] for a in open_ids]
            self._to_come.subtract(instance.job_of(action.podset).name for action in mine)
            self._kept[number] = []
            self._add(number, self._units(mine))
            if all(a not in self.causes or a in purposeless for a in ids):
                self._whole.add(number)

    def _missing(self, number: int) -> str:
        """Name the first step of a wave that is cut."""
        ids = next(ids for wave, _, ids in self._outline if wave == number)
        return next((a for a in ids if a in self.causes), "another step")

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
        return job is not None and self._to_come[job] > 0

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
            # Nobody in particular: the last step goes first.
            return {action.id: cause for action in mine or self._all()[-1:]}
        return {}

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
