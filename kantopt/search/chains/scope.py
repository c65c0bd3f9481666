"""What the search may touch: groups of identical pods, and the room that all others leave."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

from kantopt.problem.cluster import Spot
from kantopt.problem.derived.parts import Share
from kantopt.problem.freedom import Freedom, freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, Role
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.search.counts.neighbours import Neighbours
from kantopt.search.parts.ties import tied
from kantopt.verify.step import Loads

NO_LIMIT = 2**60
MOST_KINS = 48
"""Sets of pods that neighbours tell apart from others, the largest first: each is a row of room."""


@dataclass(frozen=True, slots=True)
class Group:
    """Interchangeable pods of one role: those that run and those that wait.

    ``most`` and ``least`` bound how many are placed; between them the objectives decide.
    """

    job: int
    podsets: tuple[int, ...]
    """Running before pending."""
    request: tuple[int, ...]
    """Of the resources that can run short, then of the sets that keep apart; see :class:`Scope`."""
    size: float
    """Share of the cluster's room, the largest over the resources."""
    running: int
    home: dict[int, int]
    """Pods that run on each node now."""
    start: dict[int, int]
    """Pods on each node where the search begins."""
    allowed: frozenset[int] | None
    """Nodes that admit the pods; ``None`` for all."""
    homebound: bool
    """Pods may be evicted and put back, but never run on a node where they do not run now."""
    least: int
    most: int
    surplus: bool
    """The pods that may come and go are members of a gang beyond its minimum."""
    begins: bool
    """One member is a gang's minimum: what comes after the first pod is beyond it."""
    kin: int | None
    """Number of those of whom neighbours say the same; ``None`` if they say nothing."""
    part: int
    """Number of the part of the question that the job lies in; see :class:`Scope`."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Groups, and per node what they share of each resource that can run short."""

    instance: Instance
    start: Placement
    groups: tuple[Group, ...]
    room: tuple[tuple[int, ...], ...]
    """Per resource and node: capacity less what all other pods take.

    Then for each set of pods of which a node holds one: 1 less those that are no group's.
    """
    resources: tuple[int, ...]
    """Those that can run short, in the order of requests and room."""
    apart: tuple[frozenset[int], ...]
    """The sets that keep apart, in the order of what follows the resources there."""
    others: tuple[tuple[int, Spot, int], ...]
    """Pod set, spot and pods of those in no group that neighbours look at."""
    parts: tuple[tuple[int, ...], ...]
    """Nodes of each part of the question that has groups; room elsewhere is no room for them."""

    def like(self, other: Scope) -> bool:
        """Whether the same groups have the same room, wherever their pods are."""
        same = self.room == other.room and self.others == other.others
        return same and list(map(_bounds, self.groups)) == list(map(_bounds, other.groups))

    def at_home(self) -> list[dict[int, int]]:
        """Return pods of each group by node as they run now.

        Where others have come who leave no room for all of them, those that the start leaves there.
        """
        asked: dict[int, list[int]] = defaultdict(lambda: [0] * len(self.room))
        for group in self.groups:
            for n, pods in group.home.items():
                asked[n] = [x + pods * y for x, y in zip(asked[n], group.request, strict=True)]
        full = {
            n
            for n, amounts in asked.items()
            if any(x > row[n] for x, row in zip(amounts, self.room, strict=True))
        }
        found = []
        for group in self.groups:
            home = {
                n: min(pods, group.start.get(n, 0)) if n in full else pods
                for n, pods in group.home.items()
            }
            found.append({n: pods for n, pods in home.items() if pods})
        return found

    def request(self, s: int) -> tuple[int, ...]:
        """Return what a pod of a pod set asks for, as groups have it."""
        podset = self.instance.podsets[s]
        return (*(podset.requests[r] for r in self.resources), *(int(s in x) for x in self.apart))

    def placement(self, counts: list[dict[int, int]]) -> Placement:
        """Return the placement with these pods of each group on each node.

        Running pods stay where they can; those that cannot, and then new ones, take the rest.
        """
        changes: dict[int, dict[Spot, int]] = {}
        for group, count in zip(self.groups, counts, strict=True):
            left = group.running
            running: dict[Spot, int] = {}
            for n in sorted(count):
                stay = min(count[n], group.home.get(n, 0))
                if stay:
                    running[Spot(n)] = stay
                    left -= stay
            pending: dict[Spot, int] = {}
            for n in sorted(count):
                more = count[n] - min(count[n], group.home.get(n, 0))
                moved = min(more, left)
                left -= moved
                if moved:
                    running[Spot(n)] = running.get(Spot(n), 0) + moved
                if more > moved:
                    pending[Spot(n)] = more - moved
            for s in group.podsets:
                changes[s] = running if self.instance.podsets[s].running else pending
        return self.start.replace(
            {s: spots for s, spots in changes.items() if spots != self.start.podsets[s]}
        )


def _bounds(group: Group) -> tuple[tuple[int, ...], int, int]:
    return group.podsets, group.least, group.most


def scope_at_stake(instance: Instance, start: Placement) -> Scope:
    """Find the groups of the parts of a question in which somebody waits or has been disturbed.

    What room or pods there are elsewhere is of no use to anybody there.
    """
    return scope_of(instance, start, [p for p in tied(instance) if _at_stake(instance, start, p)])


def _at_stake(instance: Instance, start: Placement, part: Share) -> bool:
    return any(
        start.placed(s) < instance.podsets[s].count
        or (instance.podsets[s].running and start.podsets[s] != instance.podsets[s].current)
        for j in part.jobs
        for s in instance.jobs[j].podsets
    )


def scope_of(instance: Instance, start: Placement, parts: Sequence[Share] | None = None) -> Scope:
    """Find the groups; pods of other roles stay where ``start`` has them.

    Parameters
    ----------
    parts
        Of the question, each by itself, those to find groups in; ``None``: the whole as one.
    """
    nodes = range(len(instance.nodes))
    if parts is None:
        parts = [Share(tuple(nodes), tuple(range(len(instance.jobs))))]
    places = tuple(part.nodes for part in parts)
    part_of = {j: p for p, part in enumerate(parts) for j in part.jobs}
    fixed, free = _fixed_jobs(instance), freedom_of(instance)
    felt = neighbours_of(instance)
    kins, crowded = _kins(instance, felt, free)
    roles = [
        (job, role, podsets)
        for job in instance.jobs
        if job.index in part_of
        for role in job.roles
        for podsets in _parts(instance, start, role, free, free.close | crowded)
    ]
    active = {s for _, _, podsets in roles for s in podsets}
    loads = Loads.of(instance, _without(start, active))
    kept = _scarce(instance, loads.between(start, _with_victims(instance, start, active)), active)
    reached = {n for place in places for n in place}
    room = tuple(
        tuple(_room(instance, loads, n, r) if n in reached else 0 for n in nodes) for r in kept
    )
    total = [sum(x for x in row if x < NO_LIMIT) or 1 for row in room]
    sets = map(frozenset, sorted({term.others for term in free.apart}))
    apart = tuple(those for those in sets if those & active)
    rows = tuple(_room_apart(instance, start, those - active) for those in apart)
    groups = tuple(
        _group(
            instance,
            start,
            job,
            podsets,
            kept,
            total,
            [int(podsets[0] in those) for those in apart],
            free,
            kins.get(podsets[0]),
            part_of[job.index],
            fixed=job.index in fixed,
        )
        for job, role, podsets in roles
    )
    others = tuple(
        (s, spot, pods)
        for s, spots in enumerate(start.podsets)
        if s not in active and felt.concern(s)
        for spot, pods in sorted(spots.items())
    )
    return Scope(instance, start, groups, (*room, *rows), tuple(kept), apart, others, places)


def neighbours_of(instance: Instance) -> Neighbours:
    """Count nobody yet: what neighbours say, but for sets that keep apart node by node."""
    return Neighbours(instance, freedom_of(instance).apart)


def _kins(
    instance: Instance, felt: Neighbours, free: Freedom
) -> tuple[dict[int, int], frozenset[int]]:
    """Number those of whom neighbours say the same, by pod set; return also those left out."""
    found: dict[Hashable, list[int]] = defaultdict(list)
    for podset in instance.podsets:
        s = podset.index
        if felt.concern(s) and s not in free.close and not free.fixed(s):
            found[felt.kin(s)].append(s)
    sets = sorted(found.values(), key=lambda each: -instance.pods_of(each))
    kins = {s: k for k, each in enumerate(sets[:MOST_KINS]) for s in each}
    return kins, frozenset(s for each in sets[MOST_KINS:] for s in each)


def _room_apart(instance: Instance, start: Placement, others: Collection[int]) -> tuple[int, ...]:
    """Per node, whether a pod of a set may come beside those of it that stay where they are."""
    taken = {spot.node for s in others for spot in start.podsets[s]}
    return tuple(int(n not in taken) for n in range(len(instance.nodes)))


def _without(placement: Placement, podsets: set[int]) -> Placement:
    return placement.replace({s: {} for s in podsets})


def _with_victims(instance: Instance, start: Placement, active: set[int]) -> Placement:
    """Return the start with victims of roles in no group back: their room is not for all."""
    if not instance.strict:
        return start
    return start.replace(
        {
            s: {x: max(k, spots.get(x, 0)) for x, k in instance.podsets[s].current.items()}
            for s, spots in enumerate(start.podsets)
            if s not in active and sum(spots.values()) < sum(instance.podsets[s].current.values())
        }
    )


def _room(instance: Instance, loads: Loads, n: int, r: int) -> int:
    limit = instance.nodes[n].capacity[r]
    if limit is None or not instance.on(Rule.CAPACITY):
        return NO_LIMIT
    return limit - loads.node[n][r]


def _scarce(instance: Instance, loads: Loads, active: set[int]) -> list[int]:
    """Resources of which some node could not hold all the pods at once."""
    found = []
    for r in range(len(instance.resources)):
        asked = sum(instance.podsets[s].count * instance.podsets[s].requests[r] for s in active)
        if asked and any(_room(instance, loads, n, r) < asked for n in range(len(instance.nodes))):
            found.append(r)
    return found or [0]  # arrays without a row would be a case of their own everywhere


def _fixed_jobs(instance: Instance) -> set[int]:
    """Jobs of which as many pods stay placed as are: something else counts them together."""
    found = set()
    for job in instance.jobs:
        single = job.count == 1
        whole = job.all_victims and instance.on(Rule.GANG_VICTIMS)
        runs = instance.running_of(job.index)
        if not single and ((job.is_gang and len(job.roles) > 1) or (whole and runs)):
            found.add(job.index)
    return found


def _parts(
    instance: Instance, start: Placement, role: Role, free: Freedom, tied: frozenset[int]
) -> list[tuple[int, ...]]:
    """Pod sets of a role that make groups: together where running pods may move, else apart."""
    open_sets = []
    for s in role.podsets:
        podset = instance.podsets[s]
        spots = (*podset.current, *start.podsets[s])
        if not (
            s in tied
            or (podset.running and podset.job in instance.together)
            or podset.devices
            or free.fixed(s)
            or instance.on_held(podset)
            or any(spot.devices for spot in spots)
        ):
            open_sets.append(s)
    if len(open_sets) == 2 and not free.moves[open_sets[0]]:
        return [(s,) for s in open_sets]
    return [tuple(open_sets)] if open_sets else []


def _group(
    instance: Instance,
    start: Placement,
    job: Job,
    podsets: tuple[int, ...],
    kept: list[int],
    total: list[int],
    apart: list[int],
    free: Freedom,
    kin: int | None,
    part: int,
    *,
    fixed: bool,
) -> Group:
    first = instance.podsets[podsets[0]]
    running = first.count if first.running else 0
    placed = sum(start.placed(s) for s in podsets)
    counts: dict[int, int] = {}
    for s in podsets:
        for spot, pods in start.podsets[s].items():
            counts[spot.node] = counts.get(spot.node, 0) + pods
    count = instance.pods_of(podsets)
    role = job.roles[first.role]
    needed = max(job.min_count, role.min_count) if job.is_gang and role.count > 1 else 0
    stands = 1 < needed <= placed
    if needed and (set(podsets) != set(role.podsets) or placed < needed > 1):
        fixed = True  # a gang that does not stand is placed as a whole, by others
    least, most = needed if stands else 0, count
    if fixed:
        least = most = placed
    elif job.index in instance.required:
        least = placed
    elif running:
        least = max(least, min(running - free.evictions[first.index], placed))
    request = tuple(first.requests[r] for r in kept)
    everywhere = not instance.on(Rule.ELIGIBILITY) or len(first.allowed) == len(instance.nodes)
    return Group(
        job=job.index,
        podsets=podsets,
        request=(*request, *apart),
        size=max((x / t for x, t in zip(request, total, strict=True)), default=0.0),
        running=running,
        home={spot.node: pods for spot, pods in sorted(first.current.items())},
        start=counts,
        allowed=None if everywhere else first.allowed,
        homebound=first.running and not free.moves[first.index],
        least=least,
        most=most,
        surplus=stands and not fixed,
        begins=needed == 1 and not fixed,
        kin=kin,
        part=part,
    )
