"""What would let a job be placed: small changes of several kinds, each with a verified plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from kantopt.clock import Deadline
from kantopt.planning.explain.steps import steps_of
from kantopt.planning.explain.trial import Trial, Trials
from kantopt.planning.explain.verdict import Ladder, disturbance
from kantopt.planning.explain.words import counted
from kantopt.planning.question import Question
from kantopt.problem.focus import wanted_pods
from kantopt.problem.instance import Instance
from kantopt.problem.job import TopologyNeed
from kantopt.schema.explanation import Remedy
from kantopt.schema.model import Model, Rule
from kantopt.schema.quantity import from_base
from kantopt.search.explain.enders import enders
from kantopt.search.explain.places import Places
from kantopt.search.explain.types import node_types
from kantopt.verify.rules.quota import cohorts, queue_limit, shared_limit, shared_use
from kantopt.verify.step import Loads

Kind = Literal[
    "move",
    "evict",
    "end",
    "relax-topology",
    "add-nodes",
    "fewer-pods",
    "raise-quota",
    "raise-priority",
    "admit-nodes",
    "lift-limits",
]
_EFFORT = get_args(Kind)
MOST_ENDS = 3
"""Jobs of which the end alone is enough that are listed."""
_MOST_NODES = 64
"""Nodes more that are tried at most."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A remedy and its rank: pods that lose their place, pods that move, kind."""

    key: tuple[int, int, int, int]
    remedy: Remedy


class Remedies:
    """Looks for remedies for one job.

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

    def find(self) -> Iterator[tuple[Remedy, ...]]:
        """Yield the remedies found so far, the smallest disruption first, more each time."""
        found: list[Ranked] = []
        for look in self._looks():
            for ranked in look():
                found.append(ranked)
                found.sort(key=lambda item: item.key)
                yield tuple(item.remedy for item in found)
                if self.deadline.over():
                    return
            if self.deadline.over():
                return

    def _looks(self) -> tuple[Callable[[], Iterator[Ranked]], ...]:
        return (
            self._planned,
            self._quota,
            self._limits,
            self._topology,
            self._admit,
            self._fewer,
            self._ends,
            self._priority,
            self._nodes,
        )

    def _ranked(
        self,
        kind: Kind,
        message: str,
        cost: str,
        trial: Trial,
        *,
        smallest: bool = False,
        lost: int = 0,
    ) -> Iterator[Ranked]:
        """Write a remedy down if its plan was found and judged."""
        plan = steps_of(trial.question, trial.asked, trial.decision)
        if plan is None:
            return
        remedy = Remedy(
            kind=kind,
            message=message,
            cost=cost,
            edit=" ".join(trial.edits),
            smallest=smallest,
            plan=plan,
        )
        key = (lost + plan.evicted_pods, plan.moved_pods, _EFFORT.index(kind), len(trial.edits))
        yield Ranked(key, remedy)

    def _planned(self) -> Iterator[Ranked]:
        """Moves and evictions that are allowed need no change: the plan is the remedy."""
        decision = self.ladder.decision
        if decision.placement is None:
            return
        evicted, moved = disturbance(self.asked, decision)
        trial = Trial((), self.question, self.asked, self.j, decision)
        kind: Kind = "evict" if evicted else "move"
        plan = steps_of(self.question, self.asked, decision)
        assert plan is not None
        parts = []
        if plan.evictions:
            names = sorted({item.job for item in plan.evictions})
            parts.append(f"evict {counted(evicted, 'pod')} of {_names(names)}")
        if plan.moves:
            names = sorted({item.job for item in plan.moves})
            parts.append(f"move {counted(moved, 'pod')} of {_names(names)}")
        costs = [counted(evicted, "pod") + " evicted"] if evicted else []
        costs += [counted(moved, "pod") + " moved"] if moved else []
        text = ", ".join(parts)
        yield from self._ranked(kind, text, ", ".join(costs), trial, smallest=decision.least)

    def _quota(self) -> Iterator[Ranked]:
        """Raise the queue's quota by exactly what is missing."""
        asked, queue = self.asked, self.job.queue
        if queue is None or not asked.on(Rule.QUOTA):
            return
        owner = asked.queues[queue]
        usage = Loads.of(asked, asked.current).queue
        edits, parts = [], []
        for quota in owner.quotas:
            r = quota.resource
            more = sum(pods * asked.podsets[s].demand[r] for s, pods in self.wanted.items())
            missing = 0
            limit = queue_limit(owner, quota)
            if limit is not None:
                missing = usage[queue][r] + more - limit
            if owner.cohort:
                members = cohorts(asked)[owner.cohort, r]
                lent = shared_use(members, usage) + more - shared_limit(members)
                missing = max(missing, lent)
            if more and missing > 0:
                name = asked.resources[r]
                value = from_base(name, quota.nominal + missing)
                edits.append(f"quota={owner.name}:{name}={value}")
                parts.append(f"{name} from {from_base(name, quota.nominal)} to {value}")
        if not edits:
            return
        text = f"raise the quota of queue {owner.name}: {', '.join(parts)}"
        yield from self._either(
            "raise-quota", text, f"{counted(len(edits), 'quota')} raised", tuple(edits)
        )

    def _either(
        self, kind: Kind, text: str, cost: str, edits: tuple[str, ...], *, smallest: bool = False
    ) -> Iterator[Ranked]:
        """Try changes with nothing disturbed, then with what is allowed."""
        trial = self.trials.now(*edits)
        if trial.decision.placement is None and not self.deadline.over():
            trial = self.trials.disturbing(*edits)
        evicted, moved = disturbance(trial.asked, trial.decision)
        parts = [cost] if cost else []
        parts += [f"{counted(evicted, 'pod')} evicted"] if evicted else []
        parts += [f"{counted(moved, 'pod')} moved"] if moved else []
        yield from self._ranked(kind, text, ", ".join(parts), trial, smallest=smallest)

    def _limits(self) -> Iterator[Ranked]:
        """Lift the model's limits as far as a plan needs it."""
        limits = self.asked.model.limits
        if limits.evictions is None and limits.moves is None:
            return
        pods = sum(podset.count for podset in self.asked.podsets if podset.running)
        lifted = tuple(
            f"limit={kind}:{pods}"
            for kind in ("evictions", "moves")
            if getattr(limits, kind) is not None
        )
        trial = self.trials.disturbing(*lifted)
        if trial.decision.placement is None:
            return
        evicted, moved = disturbance(trial.asked, trial.decision)
        need = {"evictions": evicted, "moves": moved}
        edits = tuple(
            f"limit={kind}:{need[kind]}"
            for kind in ("evictions", "moves")
            if (most := getattr(limits, kind)) is not None and need[kind] > most
        )
        text = "allow " + " and ".join(
            edit.removeprefix("limit=").replace(":", " up to ") for edit in edits
        )
        yield from self._either("lift-limits", text, "", edits)

    def _topology(self) -> Iterator[Ranked]:
        """Ask for a coarser domain, or for none."""
        levels = self.asked.topology.levels
        for need in self.asked.topology_needs:
            if need.job != self.j or need.required is None or not self.asked.on(Rule.TOPOLOGY):
                continue
            name = levels[need.required]
            for level in (*reversed(levels[: need.required]), "none"):
                if self.deadline.over():
                    return
                edit = f"{self._prefix(need)}:required={level}"
                text = f"require one {level} instead of one {name}"
                if level == "none":
                    text = f"require no {name}"
                found = list(self._either("relax-topology", text, "pods farther apart", (edit,)))
                yield from found
                if found:
                    break

    def _prefix(self, need: TopologyNeed) -> str:
        """Path of a need in a change: the job's own, or a pod set's."""
        document = self.question.jobs[self.j]
        if document.topology_request is not None and len(need.roles) == len(self.job.roles):
            return f"set={self.job.name}"
        return f"set={self.job.name}:{self.job.roles[need.roles[0]].name}"

    def _admit(self) -> Iterator[Ranked]:
        """Let the pods onto nodes that are closed to them."""
        for reason in self.places[0].reasons:
            if reason.rule is not Rule.ELIGIBILITY or self.deadline.over():
                continue
            names = [self.asked.nodes[n].name for n in reason.nodes]
            if "unschedulable" in reason.text:
                if len(names) > _MOST_NODES:
                    continue
                edits = tuple(f"uncordon={name}" for name in names)
                text = f"uncordon {_names(names)}"
            elif "taint" in reason.text:
                keys = {taint.key for n in reason.nodes for taint in self.asked.nodes[n].taints}
                edits = tuple(f"set={self.job.name}:tolerate={key}" for key in sorted(keys))
                text = f"tolerate the taint {_names(sorted(keys))} of {counted(len(names), 'node')}"
            elif "affinity" in reason.text:
                edits = (f"set={self.job.name}:nodeSelector=none",)
                text = "ask for no node selector or affinity"
            else:
                continue
            found = list(self._either("admit-nodes", text, "", edits))
            if len(edits) > 1 and "unschedulable" in reason.text:
                found = self._fewest_uncordoned(edits, names) or found
            yield from found

    def _fewest_uncordoned(self, edits: tuple[str, ...], names: list[str]) -> list[Ranked]:
        """Leave out nodes one by one for as long as the job fits without them."""
        kept = list(range(len(edits)))
        if self.trials.now(*edits).decision.placement is None:
            return []
        for i in list(kept):
            rest = [k for k in kept if k != i]
            if self.deadline.over():
                return []
            if rest and self.trials.now(*(edits[k] for k in rest)).decision.placement is not None:
                kept = rest
        text = f"uncordon {_names([names[k] for k in kept])}"
        return list(self._either("admit-nodes", text, "", tuple(edits[k] for k in kept)))

    def _fewer(self) -> Iterator[Ranked]:
        """Run with as many pods as have room."""
        if len(self.wanted) != 1:
            return
        [(s, wanted)] = self.wanted.items()
        podset = self.asked.podsets[s]
        role = self.job.roles[podset.role]
        running = 0 if role.running is None else self.asked.podsets[role.running].count
        if wanted < 2:
            return
        document = self.question.jobs[self.j]
        whole = document.min_count is not None
        low, high, best = 0, wanted, None
        while high - low > 1 and not self.deadline.over():
            middle = (low + high) // 2
            trial = self.trials.now(*self._with_pods(running + middle, role.name, whole=whole))
            if trial.decision.placement is not None:
                low, best = middle, trial
            else:
                high = middle
        if best is None:
            return
        pods = counted(running + low, "pod")
        total = sum(item.count for item in self.job.roles)
        text = f"run with {pods} instead of {running + wanted}"
        cost = counted(running + wanted - (running + low), "pod") + " fewer"
        assert total >= running + low
        yield from self._ranked(
            "fewer-pods", text, cost, best, smallest=high - low == 1 and not self.deadline.over()
        )

    def _with_pods(self, pods: int, role: str, *, whole: bool) -> tuple[str, ...]:
        """Changes that make some pods enough: of a gang the minimum, else the number of pods."""
        name = self.job.name
        if not self.job.is_gang:
            return (f"set={name}:{role}:count={pods}",)
        if whole:
            return (f"set={name}:minCount={pods}",)
        return (f"set={name}:{role}:minCount={pods}",)

    def _ends(self) -> Iterator[Ranked]:
        """Running jobs of which the end makes room: single ones, else a few together."""
        listed = 0
        candidates = enders(self.asked, self.j, self.wanted)
        for x in candidates.single:
            if self.deadline.over() or listed == MOST_ENDS:
                return
            found = list(self._end((x,), smallest=True))
            listed += len(found)
            yield from found
        if listed:
            return
        for group in candidates.groups:
            if self.deadline.over():
                return
            if self.trials.now(*self._removing(group)).decision.placement is None:
                continue
            yield from self._end(self._needed(group))
            return

    def _removing(self, jobs: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(f"remove={self.asked.jobs[x].name}" for x in jobs)

    def _needed(self, group: tuple[int, ...]) -> tuple[int, ...]:
        """Leave out jobs that need not end, the largest first."""
        kept = list(group)
        for x in sorted(group, key=lambda x: (-self._pods(x), x)):
            rest = tuple(k for k in kept if k != x)
            if self.deadline.over():
                break
            if rest and self.trials.now(*self._removing(rest)).decision.placement is not None:
                kept = list(rest)
        return tuple(kept)

    def _pods(self, x: int) -> int:
        podsets = (self.asked.podsets[s] for s in self.asked.jobs[x].podsets)
        return sum(podset.count for podset in podsets if podset.running)

    def _end(self, jobs: tuple[int, ...], *, smallest: bool = False) -> Iterator[Ranked]:
        trial = self.trials.now(*self._removing(jobs))
        names = [self.asked.jobs[x].name for x in jobs]
        pods = sum(map(self._pods, jobs))
        text = f"wait for {_names(names)} to end"
        cost = f"until then; or {counted(pods, 'pod')} deleted"
        yield from self._ranked("end", text, cost, trial, smallest=smallest, lost=pods)

    def _priority(self) -> Iterator[Ranked]:
        """Raise the job's priority above that of others, as little as helps."""
        if self.ladder.decision.placement is not None:
            return
        priorities = sorted(
            {
                self.asked.jobs[p.job].priority
                for p in self.asked.podsets
                if p.running and p.preemptible and p.job != self.j
            }
        )
        for priority in priorities:
            if self.deadline.over():
                return
            if priority < self.job.priority and self.job.may_preempt:
                continue
            value = max(priority + 1, self.job.priority)
            trial = self.trials.disturbing(f"priority={self.job.name}:{value}")
            if trial.decision.placement is None:
                continue
            evicted, moved = disturbance(trial.asked, trial.decision)
            text = f"raise its priority from {self.job.priority} to {value}"
            if value == self.job.priority:
                text = "let it preempt: preemptionPolicy PreemptLowerPriority"
            cost = f"{counted(evicted, 'pod')} evicted"
            cost += f", {counted(moved, 'pod')} moved" if moved else ""
            yield from self._ranked("raise-priority", text, cost, trial)
            return

    def _nodes(self) -> Iterator[Ranked]:
        """As few nodes more of one kind as make room."""
        for n in node_types(self.asked, self.j, self.wanted):
            name = self.asked.nodes[n].name
            most = min(_MOST_NODES, max(1, sum(self.wanted.values())))
            low, high, best = 0, 1, None
            while not self.deadline.over():
                trial = self.trials.now(f"add-nodes={name}:{high}")
                if trial.decision.placement is not None:
                    best = trial
                    break
                low = high
                if high == most:
                    break
                high = min(most, 2 * high)
            if best is None:
                continue
            while high - low > 1 and not self.deadline.over():
                middle = (low + high) // 2
                trial = self.trials.now(f"add-nodes={name}:{middle}")
                if trial.decision.placement is not None:
                    high, best = middle, trial
                else:
                    low = middle
            what = counted(high, "node") + " more"
            text = f"add {counted(high, 'node')} like {name}{self._where(n)}"
            yield from self._ranked("add-nodes", text, what, best, smallest=high - low == 1)
            return

    def _where(self, n: int) -> str:
        """Finest domain of a node that matters to the job."""
        topology = self.asked.topology
        levels = [
            need.required
            for need in self.asked.topology_needs
            if need.job == self.j and need.required is not None
        ]
        if not levels or topology.domain_of[levels[0]][n] is None:
            return ""
        domain = topology.domain_of[levels[0]][n]
        assert domain is not None
        return f" in {topology.levels[levels[0]]} {topology.domains[levels[0]][domain]}"


def _names(names: list[str]) -> str:
    """Join names: ``a``, ``a and b``, ``a, b and c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
