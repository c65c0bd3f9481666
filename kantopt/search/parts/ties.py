"""What holds nodes and jobs together: whatever shares a node, a domain, a quota or a limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kantopt.problem.cluster import Queue, Quota, Spot
from kantopt.problem.derived.parts import Share
from kantopt.problem.freedom import Freedom, freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import AntiAffinity, PodSet
from kantopt.problem.kept import kept_with_instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.search.disjoint_sets import DisjointSets
from kantopt.verify.rules.quota import cohorts, queue_limit, shared_limit


@kept_with_instance(most=1)
def tied(instance: Instance) -> tuple[Share, ...]:
    """Return what rules tie together, whatever metrics look at."""
    return tuple(Ties(instance, (), freedom_of(instance)).shares())


@dataclass(frozen=True, slots=True)
class _Scarce:
    """Quotas that could run short: one queue's, or those of a cohort; the jobs that use them."""

    quotas: tuple[tuple[Queue, Quota], ...]
    jobs: tuple[int, ...]


class Ties:
    """Nodes and jobs of a question, tied wherever one rule or metric looks at both.

    A job of which something could change is tied to the nodes on which its pods run and to those
    on which they could arrive. A job of which nothing can change ties nothing: its pods belong to
    the nodes that they are on. What does not bind whatever happens ties nothing either: a budget,
    limit or quota that is large enough for all pods there are, and one of 0, which each pod meets
    on its own.
    """

    def __init__(self, instance: Instance, tiers: Sequence[Tier], freedom: Freedom) -> None:
        self._instance, self._freedom = instance, freedom
        self._metrics = {tier.metric for tier in tiers}
        self._union = DisjointSets(len(instance.nodes) + len(instance.jobs))
        self._sets: dict[int, tuple[frozenset[int], int | None]] = {}
        self._scarce = self._scarce_quotas() if instance.on(Rule.QUOTA) else []
        loose = not instance.on(Rule.PINNED)
        self._bound = [freedom.changes(j) or loose for j in range(len(instance.jobs))]
        """Jobs that are tied to their nodes: those that change or use what could run short, and
        where nothing pins pods all, as what holds one with all its pods might not hold some."""
        for scarce in self._scarce:
            for j in scarce.jobs:
                self._bound[j] = True
            self._tie_jobs(scarce.jobs)
        self._tie_places()
        self._tie_domains(tiers)
        self._tie_spreads()
        self._tie_affinities()
        for elements in _KeptApart(instance, freedom, self._bound).groups():
            self._union.tie_all(elements)
        self._tie_budgets()
        self._tie_limits()

    def shares(self) -> list[Share]:
        """Return what is tied together, wherever something could change and there are nodes."""
        instance, find = self._instance, self._union.find
        changes = self._freedom.changes
        homes = {find(self._job(j)) for j in range(len(instance.jobs)) if changes(j)}
        nodes: dict[int, list[int]] = {}
        for n in range(len(instance.nodes)):
            if (root := find(n)) in homes:
                nodes.setdefault(root, []).append(n)
        jobs: dict[int, list[int]] = {root: [] for root in homes}
        for j, bound in enumerate(self._bound):
            if bound:
                jobs.get(find(self._job(j)), []).append(j)
        bystanders: dict[int, dict[int, dict[Spot, int]]] = {root: {} for root in homes}
        for podset in instance.podsets:
            if not self._bound[podset.job]:
                for spot, pods in podset.current.items():
                    here = bystanders.get(find(spot.node), {})
                    here.setdefault(podset.index, {})[spot] = pods
        quotas: dict[int, set[tuple[int, int]]] = {root: set() for root in homes}
        for scarce in self._scarce:
            kept = {(queue.index, quota.resource) for queue, quota in scarce.quotas}
            quotas.get(find(self._job(scarce.jobs[0])), set()).update(kept)
        return [
            Share(
                tuple(members),
                tuple(jobs[root]),
                bystanders[root],
                frozenset(quotas[root]),
            )
            for root, members in nodes.items()
        ]

    def _job(self, j: int) -> int:
        return len(self._instance.nodes) + j

    def _tie_jobs(self, jobs: Iterable[int]) -> None:
        self._union.tie_all(self._job(j) for j in jobs)

    def _tie_set(self, j: int, nodes: frozenset[int]) -> None:
        """Tie a job to a set of nodes; many pod sets share one and the same set."""
        if id(nodes) not in self._sets:
            self._sets[id(nodes)] = (nodes, self._union.tie_all(nodes))
        first = self._sets[id(nodes)][1]
        if first is not None:
            self._union.tie(self._job(j), first)

    def _tie_places(self) -> None:
        instance = self._instance
        everywhere = frozenset(range(len(instance.nodes)))
        eligible = instance.on(Rule.ELIGIBILITY)
        fewest = self._counting_fewest()
        for podset in instance.podsets:
            j, arrives = podset.job, self._freedom.arrives(podset.index)
            if not self._bound[j]:
                continue
            for spot in podset.current:
                self._union.tie(self._job(j), spot.node)
            if arrives:
                self._tie_set(j, podset.allowed if eligible else everywhere)
            if j in fewest:
                self._tie_set(j, podset.allowed)

    def _tie_domains(self, tiers: Sequence[Tier]) -> None:
        """Tie the nodes of each domain of which a metric asks whether it is in use."""
        for tier in tiers:
            if tier.metric is Metric.DOMAINS_IN_USE and tier.level is not None:
                for domain in self._instance.topology.domains[tier.level]:
                    self._union.tie_all(domain.nodes)

    def _counting_fewest(self) -> set[int]:
        """Jobs of which a metric asks how few of the nodes they are allowed on could hold them."""
        found: set[int] = set()
        if Metric.DOMAINS_CROSSED in self._metrics:
            needs = self._instance.topology_needs
            found |= {need.job for need in needs if need.preferred is not None}
        if self._metrics & {Metric.EXCESS_NODES, Metric.EXCESS_GROUPS}:
            found |= {job.index for job in self._instance.jobs if job.is_gang}
        return found

    def _tie_spreads(self) -> None:
        """Tie who spreads to all nodes that the constraint looks at, and so to who is there."""
        instance = self._instance
        if not instance.on(Rule.SPREAD):
            return
        looked_at: dict[tuple[int, str], frozenset[int]] = {}
        for spread in instance.spreads:
            if not self._freedom.arrives(spread.owner):
                continue
            podset = instance.podsets[spread.owner]
            key = (id(spread.over), spread.key)
            if key not in looked_at:
                looked_at[key] = frozenset(
                    n for n in spread.over if instance.label_domain(n, spread.key) is not None
                )
            self._tie_set(podset.job, looked_at[key])

    def _tie_affinities(self) -> None:
        """Tie who comes near others to all of these, wherever they are."""
        instance = self._instance
        if not instance.on(Rule.AFFINITY):
            return
        for near in instance.affinities:
            if self._freedom.arrives(near.owner):
                elements = [self._job(instance.podsets[near.owner].job)]
                for s in near.anchors:
                    podset = instance.podsets[s]
                    if self._bound[podset.job]:
                        elements.append(self._job(podset.job))
                    else:
                        elements += [spot.node for spot in podset.current]
                self._union.tie_all(elements)

    def _tie_budgets(self) -> None:
        instance = self._instance
        if not instance.on(Rule.DISRUPTION):
            return
        for budget in instance.budgets:
            podsets = [s for s in budget.podsets if self._freedom.evictions[s]]
            if instance.pods_of(podsets) > budget.allowed:
                self._tie_jobs(instance.podsets[s].job for s in podsets)

    def _tie_limits(self) -> None:
        limits = self._instance.model.limits
        running = [podset for podset in self._instance.podsets if podset.running]
        for limit, could in (
            (limits.evictions, self._freedom.evictions),
            (limits.moves, self._freedom.moves),
        ):
            podsets = [podset for podset in running if could[podset.index]]
            self._tie_beyond(podsets, limit)
        namespaces: dict[str, list[PodSet]] = {}
        for podset in running:
            if self._freedom.arrives(podset.index):
                namespace = self._instance.jobs[podset.job].namespace
                namespaces.setdefault(namespace, []).append(podset)
        for podsets in namespaces.values():
            self._tie_beyond(podsets, limits.moves_per_namespace)

    def _tie_beyond(self, podsets: Sequence[PodSet], limit: int | None) -> None:
        if limit is not None and sum(podset.count for podset in podsets) > limit:
            self._tie_jobs(podset.job for podset in podsets)

    def _scarce_quotas(self) -> list[_Scarce]:
        """Return what could run short; what holds all pods at once never matters."""
        instance = self._instance
        users: list[dict[int, set[int]]] = [{} for _ in instance.queues]
        most = [[0] * len(instance.resources) for _ in instance.queues]
        for podset in instance.podsets:
            q = instance.jobs[podset.job].queue
            if q is not None:
                there = podset.running or self._freedom.arrives(podset.index)
                for r, amount in enumerate(podset.demand):
                    if amount:
                        users[q].setdefault(r, set()).add(podset.job)
                        most[q][r] += podset.count * amount * there
        groups = [
            [(queue, quota)]
            for queue in instance.queues
            if not queue.cohort
            for quota in queue.quotas
        ]
        found = []
        for group in (*groups, *cohorts(instance).values()):
            r = group[0][1].resource
            jobs = {j for queue, _ in group for j in users[queue.index].get(r, ())}
            if jobs and not _holds(group, most):
                found.append(_Scarce(tuple(group), tuple(sorted(jobs))))
        return found


def _holds(group: list[tuple[Queue, Quota]], most: list[list[int]]) -> bool:
    """Whether each queue of a group and all together stay within their limits at their most."""
    beyond = 0
    for queue, quota in group:
        used, limit = most[queue.index][quota.resource], queue_limit(queue, quota)
        if limit is not None and used > limit:
            return False
        beyond += max(0, used - quota.guaranteed)
    return not group[0][0].cohort or beyond <= shared_limit(group)


@dataclass(slots=True)
class _Meeting:
    """Nodes and jobs that have, or could have, pods of some pod sets in one domain."""

    elements: list[int] = field(default_factory=list)
    changes: bool = False
    """One of them could change."""


class _KeptApart:
    """Nodes and jobs that pod anti-affinity ties: nodes by their index, jobs after all nodes.

    Parameters
    ----------
    bound
        Whether a job is tied to its nodes anyway. One that is not stays as it is, and what it has
        in a domain belongs to the nodes there.
    """

    def __init__(self, instance: Instance, freedom: Freedom, bound: Sequence[bool]) -> None:
        self._instance, self._freedom, self._bound = instance, freedom, bound
        self._labels: dict[tuple[int, str], frozenset[str]] = {}
        self._single: dict[str, bool] = {}
        self._met: dict[tuple[int, str], dict[str, _Meeting]] = {}

    def groups(self) -> Iterator[list[int]]:
        """Yield what is tied together: a term's owner and all others in a domain they share.

        Where nothing in the domain could change nothing is tied. A label that no two nodes share
        ties nothing either: who meets there meets on a node.
        """
        if not self._instance.on(Rule.ANTI_AFFINITY):
            return
        for term in self._instance.anti_affinities:
            if self._is_single(term.key):
                continue
            others = self._others(term)
            for domain, mine in self._presence(term.owner, term.key).items():
                met = others.get(domain)
                if met is not None and (mine.changes or met.changes):
                    yield [*mine.elements, *met.elements]
                    del met.elements[1:]  # tied now: one stands for all

    def _is_single(self, key: str) -> bool:
        if key not in self._single:
            labels = [node.labels[key] for node in self._instance.nodes if key in node.labels]
            self._single[key] = len(set(labels)) == len(labels)
        return self._single[key]

    def _others(self, term: AntiAffinity) -> dict[str, _Meeting]:
        """Return by domain who else is met; terms with one selector share one tuple."""
        key = (id(term.others), term.key)
        if key not in self._met:
            met: dict[str, _Meeting] = {}
            for s in term.others:
                for domain, theirs in self._presence(s, term.key).items():
                    all_there = met.setdefault(domain, _Meeting())
                    all_there.elements += theirs.elements
                    all_there.changes |= theirs.changes
            self._met[key] = met
        return self._met[key]

    def _presence(self, s: int, key: str) -> dict[str, _Meeting]:
        instance, podset = self._instance, self._instance.podsets[s]
        found: dict[str, _Meeting] = {}
        if self._bound[podset.job]:
            domains = {instance.label_domain(spot.node, key) for spot in podset.current}
            if self._freedom.arrives(s):
                domains |= self._domains(podset.allowed, key)
            changes = self._freedom.arrives(s) or self._freedom.evictions[s] > 0
            for domain in domains - {None}:
                assert domain is not None
                found[domain] = _Meeting([len(instance.nodes) + podset.job], changes)
        else:
            for spot in podset.current:
                domain = instance.label_domain(spot.node, key)
                if domain is not None:
                    found.setdefault(domain, _Meeting()).elements.append(spot.node)
        return found

    def _domains(self, nodes: frozenset[int], key: str) -> frozenset[str]:
        if (id(nodes), key) not in self._labels:
            labels = (self._instance.label_domain(n, key) for n in nodes)
            self._labels[id(nodes), key] = frozenset(x for x in labels if x is not None)
        return self._labels[id(nodes), key]
