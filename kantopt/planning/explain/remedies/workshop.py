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

    def ranked(
        self,
        kind: RemedyKind,
        message: str,
        cost: str,
        trial: Trial,
        *,
        smallest: bool = False,
        lost: int = 0,
    ) -> Iterator[Ranked]:
        """Write a remedy down if its plan was found and judged."""
        plan = steps_of(trial.question, trial.asked, trial.decision.placement, trial.decision.waves)
        if plan is None:
            return
        remedy = Remedy(
            kind=kind,
            message=message,
            cost=cost or "nothing is disturbed",
            edit=" ".join(trial.edits),
            smallest=smallest,
            plan=plan,
        )
        key = (lost + plan.evicted_pods, plan.moved_pods, _EFFORT.index(kind), len(trial.edits))
        yield Ranked(key, remedy)

    def either(
        self, kind: RemedyKind, text: str, cost: str, edits: tuple[str, ...]
    ) -> Iterator[Ranked]:
        """Try changes with nothing disturbed, then with what is allowed."""
        trial = self.trials.now(*edits)
        beyond = self.ladder.beyond
        if trial.decision.placement is None and beyond is not None and kind in _LIFTING:
            trial = self.trials.given(beyond, *edits)
        further = is_small(self.asked) or self.ladder.decision.placement is None
        if trial.decision.placement is None and further and not self.deadline.over():
            trial = self.trials.disturbing(*edits)
        if not self._spares(trial):
            return
        parts = [cost, *disturbed(*disturbance(trial.asked, trial.decision))]
        yield from self.ranked(kind, text, ", ".join(filter(None, parts)), trial)

    def _spares(self, trial: Trial) -> bool:
        """Whether a plan with a change disturbs less than the one that needs none, if there is one.

        What is no less has no use of the change, however it is arranged.
        """
        plan, found = self.ladder.decision.placement, trial.decision.placement
        if plan is None or found is None:
            return True
        tiers = disturbing(self.asked)
        return measure(trial.asked, found, tiers) < measure(self.asked, plan, tiers)

    def smallest(
        self, works: Callable[[int], bool], most: int, guess: int
    ) -> tuple[int | None, bool]:
        """Smallest number up to ``most`` that works, as those above it do; the guess comes first.

        Says as well whether the number before it was found not to work.
        """
        low, high = 0, None
        probe = min(max(1, guess), most)
        while not self.deadline.over():
            if works(probe):
                high = probe
            else:
                low = probe
            if high is not None and high - low == 1:
                return high, True
            if high is None:
                if low == most:
                    break
                probe = min(most, 2 * low if low > guess else low + 1)
            else:
                probe = high - 1 if high == guess else (low + high) // 2
        return high, False
