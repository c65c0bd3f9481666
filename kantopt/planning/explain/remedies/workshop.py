"""What every search for a remedy needs: the question, trials, and how a remedy is written down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import get_args

from kantopt.clock import Deadline
from kantopt.planning.document.write import steps_of
from kantopt.planning.explain.trial import Trial, Trials
from kantopt.planning.explain.verdict import Ladder, disturbance
from kantopt.planning.question import Question
from kantopt.planning.words import disturbed
from kantopt.problem.derived.focus import wanted_pods
from kantopt.problem.instance import Instance
from kantopt.schema.answers.explanation import Remedy, RemedyKind
from kantopt.schema.model import Model
from kantopt.search.explain.counting import Counting, countable
from kantopt.search.explain.decide import disturbing, is_small
from kantopt.search.explain.places import Places
from kantopt.verify.metrics import measure

_EFFORT = get_args(RemedyKind)
_LIFTING = ("raise-quota", "lift-limits")
"""Kinds that take away what the verdict was about: its placement without that may do."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A remedy and its rank: pods that lose their place, pods that move, kind."""

    key: tuple[int, int, int, int]
    remedy: Remedy
    instead: str | None = None
    """Edit of a remedy that told less, in whose place it is told."""


class Workshop:
    """Tries changes for one job and writes down those that help.

    Parameters
    ----------
    asked
        The question about the job, with all that the model allows.
    places
        Why each node is out, by pod set of the job.
    ladder
        The verdict.
    """

    def __init__(
        self,
        question: Question,
        model: Model,
        asked: Instance,
        j: int,
        places: list[Places],
        ladder: Ladder,
        deadline: Deadline,
    ) -> None:
        self.question = question
        self.asked = asked
        self.j = j
        self.job = asked.jobs[j]
        self.places = places
        self.ladder = ladder
        self.deadline = deadline
        self.trials = Trials(question, model, self.job.name, deadline)
        self.wanted = wanted_pods(asked, j)
        self.counting = Counting(asked, j) if countable(asked, j) else None
        """Counts instead of trying where that is exact."""
        self.later: list[Callable[[], Iterator[Ranked]]] = []
        """What is asked at last: whether less of a change is enough if more is disturbed."""

    def ask_later(self, look: Callable[[], Iterator[Ranked]]) -> None:
        """Ask something at last, if changes are tried with moves and evictions at all."""
        if self.further:
            self.later.append(look)

    def take(self, deadline: Deadline) -> None:
        """Take so long from here on."""
        self.deadline = self.trials.deadline = deadline

    def ranked(
        self,
        kind: RemedyKind,
        message: str,
        cost: str,
        trial: Trial,
        *,
        smallest: bool = False,
        lost: int = 0,
        instead: str | None = None,
    ) -> Iterator[Ranked]:
        """Write a remedy down if its plan was found and judged.

        To what it costs is added whom the plan disturbs.
        """
        plan = steps_of(trial.question, trial.asked, trial.decision.placement, trial.decision.waves)
        if plan is None:
            return
        parts = [cost, *disturbed(*disturbance(trial.asked, trial.decision))]
        remedy = Remedy(
            kind=kind,
            message=message,
            cost=", ".join(filter(None, parts)) or "nothing is disturbed",
            edit=" ".join(trial.edits),
            smallest=smallest,
            plan=plan,
        )
        key = (lost + plan.evicted_pods, plan.moved_pods, _EFFORT.index(kind), len(trial.edits))
        yield Ranked(key, remedy, instead)

    def either(
        self, kind: RemedyKind, text: str, cost: str, edits: tuple[str, ...]
    ) -> Iterator[Ranked]:
        """Try changes with nothing disturbed, then with what is allowed."""
        trial = self.trials.now(*edits)
        beyond = self.ladder.beyond
        if trial.decision.placement is None and beyond is not None and kind in _LIFTING:
            trial = self.trials.given(beyond, *edits)
        if trial.decision.placement is None and self.further and not self.deadline.over():
            trial = self.trials.disturbing(*edits)
        if self.helps(trial):
            yield from self.ranked(kind, text, cost, trial)

    @property
    def further(self) -> bool:
        """Whether changes are tried with moves and evictions, too, or that is in vain.

        Of a large question any plan will do, which is no better than the one that needs no change.
        """
        return is_small(self.asked) or self.ladder.decision.placement is None

    def helps(self, trial: Trial) -> bool:
        """Whether there is a plan with a change, which disturbs less than one that needs none.

        What is no less has no use of the change, however it is arranged.
        """
        plan, found = self.ladder.decision.placement, trial.decision.placement
        if plan is None or found is None:
            return found is not None
        tiers = disturbing(self.asked)
        return measure(trial.asked, found, tiers) < measure(self.asked, plan, tiers)

    def refuted(self, trial: Trial) -> bool:
        """Whether a change provably does not help."""
        decision = trial.decision
        return decision.impossible or (decision.least and not self.helps(trial))
