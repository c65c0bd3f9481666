"""The relaxation as a CP-SAT model: how many pods of each kind end up in each class of nodes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExprT

from kantopt.cp.relaxed.classes import Classes, NodeClass
from kantopt.cp.relaxed.kept_room import add_kept_room
from kantopt.cp.relaxed.kinds import JobKind, PodKind, kinds_of
from kantopt.cp.relaxed.receiving import HALVES, arrival_weights
from kantopt.cp.relaxed.rows import Row, rows_of
from kantopt.cp.variables import Terms, weighted, within
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.verify.closeness import CLOSENESS
from kantopt.verify.rules.quota import cohorts, queue_limit, shared_limit, shared_use
from kantopt.verify.step import Loads

MOST_COUNTS = 4_000
"""Most counts in a relaxation: nodes are merged into fewer classes beyond."""


class Relaxation:
    """A model that admits more than the rules do.

    Every legal placement says how many pods of each kind are in each class of nodes; these
    numbers are a solution. Not looked at: which node of a class, slices, anti-affinity, spread,
    and who may evict whom for what. So what no solution has, no legal plan has.
    """

    most_counts = MOST_COUNTS

    def __init__(self, instance: Instance, tiers: Sequence[Tier], *, coarse: bool = False) -> None:
        self.instance = instance
        self.cp = CpModel()
        self.close = [tier for tier in tiers if tier.metric in CLOSENESS]
        """Tiers of how far gangs are spread."""
        self.excess = _standing_excess(instance, self.close)
        """Of jobs with pods that cannot move what they stand for in these tiers now."""
        self.needs = instance.needs_of
        """Wishes of each job to be close."""
        self.kinds = kinds_of(instance, tuple(self._mark().items()))
        self.standing = Loads.of(instance, instance.current)
        about = instance, self.kinds, self.standing, self.most_counts
        self.classes = Classes(*about, region=self._region, coarse=coarse)
        self.at: list[dict[int, IntVar]] = []
        """Pods of each kind in each class; of kinds that stay for certain there is no count."""
        self.moved: dict[int, IntVar] = {}
        """Pods of a kind that move."""
        self.stay: list[dict[int, IntVar]] = []
        """Pods of each kind that may move that stay where they are in each class."""
        self.lost: list[dict[int, IntVar]] = []
        """Pods of each kind that may move that each class loses to evictions."""
        self.arrived: list[dict[int, IntVar]] = []
        """Pods of each kind that may move that come to a node of each class."""
        self.rows: dict[int, list[Row]] = {}
        """What each class can hold."""
        self._placed: list[LinearExprT] = []
        for pods in self.kinds.pods:
            self._add_pods(pods)
        for c in self.classes.classes:
            self._add_capacity(c)
        add_kept_room(self)
        self.satisfied = [self._add_job(kind) for kind in self.kinds.jobs]
        """Jobs of each kind that are placed, at most."""
        self.victims: dict[int, IntVar] = {}
        """Jobs of a kind, by index, that lose pods and lose them all together."""
        for j, kind in enumerate(self.kinds.jobs):
            if kind.one.all_victims:
                self._add_victims(j, kind)
        self._add_quota()
        self._add_disruption()
        self._add_closeness()

    def _mark(self) -> Mapping[int, Hashable]:
        """What tells jobs apart, by job, besides what the relaxation looks at."""
        return self.excess

    def _region(self, n: int) -> Hashable:
        """What tells a node from others, besides what it offers and admits."""
        return None

    def _add_closeness(self) -> None:
        """Add what holds for the domains of gangs: nothing, as nodes are merged over domains."""

    def spread(self, j: int, level: int, roles: tuple[int, ...], fewest: int) -> LinearExprT | None:
        """Return domains of a level that jobs of a kind use beyond the fewest, at most, if known.

        Here it is not: there are no domains.
        """
        return None

    def placed(self, kind: PodKind) -> LinearExprT:
        """Pods of a kind that are placed."""
        return self._placed[kind.index]

    def evicted(self, kind: PodKind) -> LinearExprT:
        """Pods of a running kind that are evicted."""
        return kind.count - self._placed[kind.index]

    def kept(self, j: int) -> LinearExprT:
        """Jobs of a kind that lose no running pod, at least."""
        kind = self.kinds.jobs[j]
        jobs = len(kind.jobs)
        running = [pods for pods in kind.pods if pods.evictable]
        if not running:
            return jobs
        if j in self.victims:
            return jobs - self.victims[j]
        kept = self.cp.new_int_var(0, jobs, f"kept[{j}]")
        self.cp.add(kept >= jobs - weighted([(self.evicted(pods), 1) for pods in running]))
        return kept

    def total(self, kinds: Iterable[PodKind]) -> LinearExprT:
        """Pods of some kinds that are placed."""
        return weighted([(self.placed(kind), 1) for kind in kinds])

    def _add_pods(self, kind: PodKind) -> None:
        cp, k = self.cp, kind.index
        counts: dict[int, IntVar] = {}
        self.at.append(counts)
        for several in (self.stay, self.lost, self.arrived):
            several.append({})
        if kind.fixed:
            self._placed.append(kind.count)
            return
        standing = self.classes.standing(kind)
        for c in self.classes.classes:
            here = standing.get(c.index, 0)
            most = min(kind.count, here + self.classes.room(kind, c))
            if most:
                counts[c.index] = cp.new_int_var(0, most, f"at[{k},{c.index}]")
        total = weighted([(var, 1) for var in counts.values()])
        self._placed.append(total)
        if counts:
            least = kind.count if kind.one.running and not kind.evictable else 0
            cp.add_linear_constraint(total, least, kind.count)
        if kind.movable:
            self._add_moves(kind, standing, total)

    def _add_moves(self, kind: PodKind, standing: Mapping[int, int], total: LinearExprT) -> None:
        """Say of each class who stays, is lost and arrives: proofs take far longer on less.

        Pods that change their node within a class arrive there as well.
        """
        cp, k = self.cp, kind.index
        stay, lost, arrived = self.stay[k], self.lost[k], self.arrived[k]
        for i, var in self.at[k].items():
            arrived[i] = var
            if here := standing.get(i, 0):
                stay[i] = cp.new_int_var(0, here, f"stay[{k},{i}]")
                arrived[i] = cp.new_int_var(0, kind.count, f"arrive[{k},{i}]")
                cp.add(var == stay[i] + arrived[i])
                if kind.evictable:
                    lost[i] = cp.new_int_var(0, here, f"lost[{k},{i}]")
                    cp.add(stay[i] + lost[i] <= here)
        self.moved[k] = cp.new_int_var(0, kind.count, f"moved[{k}]")
        cp.add(self.moved[k] == weighted([(var, 1) for var in arrived.values()]))
        left: Terms = [(var, -1) for several in (stay, lost) for var in several.values()]
        cp.add(self.moved[k] == weighted(left) + sum(standing[i] for i in stay))
        if kind.evictable:
            cp.add(self.moved[k] <= total)

    def _add_capacity(self, c: NodeClass) -> None:
        present = [kind for kind in self.kinds.pods if c.index in self.at[kind.index]]
        self.rows[c.index] = list(rows_of(self.instance, c.offers, present))
        for row in self.rows[c.index]:
            most = sum(w * min(self.kinds.pods[k].count, row.limit) for k, w in row.weights.items())
            if most > row.limit:
                self.cp.add(self.load(c, row) <= row.limit)

    def load(self, c: NodeClass, row: Row) -> LinearExprT:
        """Left side of a row of a class."""
        return weighted([(self.at[k][c.index], w) for k, w in row.weights.items()])

    def _add_job(self, kind: JobKind) -> IntVar:
        """Add what holds for the jobs of a kind; return how many of them are placed, at most."""
        cp, one, jobs = self.cp, kind.one, len(kind.jobs)
        placed = cp.new_int_var(0, jobs, f"satisfied[{one.index}]")
        for role, pods in zip(one.roles, kind.roles, strict=True):
            least = role.min_count if one.is_gang else role.count
            if least:
                cp.add(self.total(pods) >= least * placed)
        if one.min_count:
            cp.add(self.total(kind.pods) >= one.min_count * placed)
        if one.is_gang and self.instance.on(Rule.GANG) and not self.stands_short(kind):
            # Each is full or empty: what is placed is placed of full ones.
            for role, pods in zip(one.roles, kind.roles, strict=True):
                cp.add(self.total(pods) <= role.count * placed)
        if one.index in self.instance.required:
            cp.add(placed == jobs)
        return placed

    def stands_short(self, kind: JobKind) -> bool:
        """Whether some pods of each job of a kind run, but fewer than its minimum."""
        running = [sum(k.one.count for k in role if k.one.running) for role in kind.roles]
        return any(running) and (
            sum(running) < kind.one.min_count
            or any(k < role.min_count for k, role in zip(running, kind.one.roles, strict=True))
        )

    def _add_victims(self, j: int, kind: JobKind) -> None:
        running = [pods for pods in kind.pods if pods.one.running]
        if not any(pods.evictable for pods in running):
            return
        jobs = len(kind.jobs)
        lost = self.victims[j] = self.cp.new_int_var(0, jobs, f"victims[{kind.one.index}]")
        whole = self.instance.on(Rule.GANG_VICTIMS)
        for pods in running:
            self.cp.add(self.evicted(pods) <= pods.one.count * lost)
            if whole:
                self.cp.add(self.evicted(pods) >= pods.one.count * lost)
        if whole:
            for pods in kind.pods:
                self.cp.add(self.placed(pods) <= pods.one.count * (jobs - lost))

    def _add_quota(self) -> None:
        instance, standing = self.instance, self.standing.queue
        if not instance.on(Rule.QUOTA):
            return
        use: dict[tuple[int, int], Terms] = {}
        for kind in self.kinds.pods:
            q = instance.jobs[kind.one.job].queue
            for r, amount in enumerate(kind.one.demand):
                if q is not None and amount:
                    use.setdefault((q, r), []).append((self.placed(kind), amount))
        for queue in instance.queues:
            for quota in queue.quotas:
                terms = use.get((queue.index, quota.resource))
                limit = queue_limit(queue, quota)
                if limit is not None and terms:
                    now = standing[queue.index][quota.resource]
                    self._keep_within(weighted(terms), limit, now, queue.index, quota.resource)
        for (cohort, r), members in cohorts(instance).items():
            beyond: Terms = []
            for queue, quota in members:
                used = weighted(use.get((queue.index, r), []))
                most = sum(
                    kind.count * kind.one.demand[r]
                    for kind in self.kinds.pods
                    if instance.jobs[kind.one.job].queue == queue.index
                )
                part = self.cp.new_int_var(0, most, f"beyond[{cohort},{queue.index},{r}]")
                self.cp.add(part >= used - within(quota.guaranteed))
                beyond.append((part, 1))
            limit, now = shared_limit(members), shared_use(members, standing)
            self.cp.add(weighted(beyond) <= within(max(limit, now)))
            for queue, quota in members if now > limit else ():
                # At most what a queue leaves unused of its own comes to what is shared.
                most = limit + quota.guaranteed
                self._keep_within(weighted(beyond), most, now, queue.index, r)

    def _keep_within(self, used: LinearExprT, limit: int, now: int, q: int, r: int) -> None:
        """Keep a use within a limit; of one that is beyond it only if pods come to a queue."""
        most = within(max(limit, now))
        if now <= limit:
            self.cp.add(used <= most)
            return
        came = self.cp.new_bool_var(f"came[{q},{r}]")
        for kind in self.kinds.pods:
            new = not kind.one.running and kind.one.demand[r]
            if new and self.instance.jobs[kind.one.job].queue == q:
                self.cp.add(self.placed(kind) <= kind.count * came)
        self.cp.add(weighted([(used, 1), (came, most - within(limit))]) <= most)

    def _add_disruption(self) -> None:
        """Budgets and limits: how many pods a plan evicts and moves at most."""
        limits = self.instance.model.limits
        evicted = [(self.evicted(k), 1) for k in self.kinds.pods if k.evictable]
        if limits.evictions is not None and evicted:
            self.cp.add(weighted(evicted) <= limits.evictions)
        if limits.moves is not None and self.moved:
            self.cp.add(weighted([(var, 1) for var in self.moved.values()]) <= limits.moves)
        if self.instance.on(Rule.DISRUPTION):
            for budget in self.instance.budgets:
                lost = [
                    (self.evicted(kind), 1)
                    for kind in self.kinds.pods
                    if kind.evictable and budget.index in kind.one.budgets
                ]
                if lost:
                    self.cp.add(weighted(lost) <= budget.allowed)

    def add_departures(self) -> None:
        """Add that pods must leave where pending ones arrive that fit nowhere as it is."""
        weights = arrival_weights(self.instance, self.kinds)
        if weights:
            leaving: Terms = [(var, HALVES) for var in self.moved.values()]
            leaving += [(self.evicted(k), HALVES) for k in self.kinds.pods if k.evictable]
            pods = self.kinds.pods
            arriving = weighted([(self.placed(pods[k]), w) for k, w in weights.items()])
            self.cp.add(weighted(leaving) >= arriving)


def _standing_excess(instance: Instance, tiers: Sequence[Tier]) -> dict[int, tuple[int, ...]]:
    """Return for jobs with pods that cannot move what these use beyond the fewest regions.

    One entry for each of some tiers about closeness; jobs with nothing beyond are left out.
    """
    if not tiers:
        return {}
    moves = freedom_of(instance).moves
    stuck = Placement(
        tuple({} if moves[podset.index] else podset.current for podset in instance.podsets)
    )
    by_tier = [CLOSENESS[tier.metric](tier, instance, stuck) for tier in tiers]
    jobs = sorted({j for excess in by_tier for j, beyond in excess.items() if beyond})
    return {j: tuple(excess[j] for excess in by_tier) for j in jobs}
