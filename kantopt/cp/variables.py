"""The variables: counts of identical pods, and yes-or-no questions made when someone asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr, LinearExprT

from kantopt.cp.around import Around
from kantopt.cp.units import request_units
from kantopt.problem.cluster import Spot
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import DeviceNeed, PodSet
from kantopt.problem.node_room import distinct_groups
from kantopt.schema.model import Rule
from kantopt.verify.step import Loads, Step

Subject = tuple[str | int, ...]
"""What constraints are about: ``("node", 3)``, ``("job", 7)``."""
Terms = list[tuple[LinearExprT, int]]
"""Summands of an expression with their coefficients."""


def weighted(terms: Terms) -> LinearExprT:
    """Sum of terms; 0 if there are none."""
    if not terms:
        return 0
    return LinearExpr.weighted_sum([term for term, _ in terms], [weight for _, weight in terms])


_LARGEST = 2**62


def within(limit: int) -> int:
    """Return a limit as the solver's numbers hold it: no sum of amounts comes near that."""
    return min(limit, _LARGEST)


class Variables:
    """Counts of pods that stay and that arrive, by pod set and place.

    ``stay[s][spot]`` pods of a running pod set stay where they are; ``arrive[s][n]`` pods arrive
    on a node: bound, if the pod set is pending, moved, if it runs. ``use[s][n, d]`` of the
    arriving pods occupy device ``d``. A pair that eligibility, size or a pin excludes has no
    variable: absence is the constraint. Running pods that neither stay nor arrive are evicted.
    """

    def __init__(
        self,
        instance: Instance,
        rules: frozenset[Rule],
        *,
        moves: bool = True,
        around: Around | None = None,
        lazy: bool = False,
    ) -> None:
        self.instance = instance
        self.rules = rules
        self._lazy = lazy
        self.later: list[Callable[[], None]] = []
        """What adds the lazy constraints that are not in yet."""
        self.may = freedom_of(instance, rules)
        self.moves = moves
        self.around = around
        self._came = Step(instance, instance.current, around.placement).arrivals if around else ()
        self.cp = CpModel()
        self.stay: list[dict[Spot, IntVar]] = []
        self.arrive: list[dict[int, IntVar]] = []
        self.use: list[dict[tuple[int, int], IntVar]] = []
        self._made: dict[Hashable, IntVar] = {}
        self.subjects: list[tuple[int, Subject]] = []
        """Where in the model the constraints about a subject begin, for who switches them."""
        self.definitions: list[tuple[int, int]] = []
        """Ranges of constraints that only say what a variable means."""
        self._fixed = Loads(instance)
        for podset in instance.podsets:
            for spot, pods in podset.current.items():
                if not self.held(spot.node) and self._stays(podset, spot, pods)[0] == pods:
                    self._fixed.add(podset.index, spot, pods)
        for podset in instance.podsets:
            self._add(podset)
        for j in sorted(instance.together):
            self._restart_together(j)
        self.unit = request_units(instance)
        self._loads: dict[Hashable, LinearExprT] = {}
        self.on_node = self._by_node()
        self.on_device = self._by_device()
        self.standing = Loads.of(instance, instance.current)
        self.before = Step(instance, instance.current, instance.current)

    def held(self, n: int) -> bool:
        """Whether everything on a node is as in the placement that this is a neighbourhood of."""
        return self.around is not None and n not in self.around.nodes

    def may_lose(self, podset: PodSet) -> bool:
        """Whether pods of a pod set may be evicted: not all are held."""
        free = self.around is None or self.around.free(podset) > 0
        return free and self.may.evictions[podset.index] > 0

    def may_arrive(self, podset: PodSet) -> bool:
        """Whether pods of a pod set may go somewhere: pending ones, and movable running ones."""
        return not podset.running or (self.moves and self.may.moves[podset.index] > 0)

    def _add(self, podset: PodSet) -> None:
        s, cp = podset.index, self.cp
        stay: dict[Spot, IntVar] = {}
        self.stay.append(stay)
        for i, (spot, pods) in enumerate(sorted(podset.current.items())):
            low, high = self._stays(podset, spot, pods)
            stay[spot] = cp.new_int_var(low, high, f"stay[{s},{spot.node},{i}]")
        self.arrive.append({})
        self.use.append({})
        if self.may_arrive(podset):
            self._add_arrivals(podset)
        low = podset.count - self.may.evictions[s] if podset.running else 0
        if low > 0 and not self.may.fixed(s):
            cp.add(self.placed(s) >= low)

    def _add_arrivals(self, podset: PodSet) -> None:
        s, cp, arrive, use = podset.index, self.cp, self.arrive[-1], self.use[-1]
        nodes: Iterable[int] = range(len(self.instance.nodes))
        if self.around is not None:
            self._hold(self.around, podset)  # off the nodes, pods have arrived already
            nodes = sorted(self.around.nodes) if self.around.free(podset) else ()
        for n in nodes:
            if Rule.ELIGIBILITY in self.rules and n not in podset.allowed:
                continue
            # Who leaves and comes back has stayed; but of devices there may be others, and of jobs
            # that restart together all arrive.
            apart = podset.devices or podset.job in self.instance.together
            here = 0 if apart else podset.current.get(Spot(n), 0)
            most = min(self._most(podset, n), podset.count - here)
            if not most:
                continue
            arrive[n] = cp.new_int_var(0, most, f"arrive[{s},{n}]")
            if here:
                cp.add(self.stay[s][Spot(n)] >= here * self.arrives(s, n))
            for need in podset.devices:
                of_class = self.instance.nodes[n].devices_of(need.device_class)
                devices = [d for d in of_class if self._fits(need, n, d, 1)]
                for d in devices:
                    use[n, d] = cp.new_int_var(0, most, f"use[{s},{n},{d}]")
                    cp.add(use[n, d] <= arrive[n])
                cp.add(LinearExpr.sum([use[n, d] for d in devices]) == need.count * arrive[n])
        if arrive:
            total = [*arrive.values(), *self.stay[s].values()]
            cp.add(LinearExpr.sum(total) <= podset.count)

    def _restart_together(self, j: int) -> None:
        """If pods of a job move, none stays: who ends where it was arrives there."""
        running, pods = self.instance.running_of(j), self.instance.running_pods(j)
        moved: Terms = [(self.arrived(s), 1) for s in running if self.arrive[s]]
        if moved:
            stays = weighted([(var, 1) for s in running for var in self.stay[s].values()])
            self.cp.add(stays <= pods * (1 - self.positive(("all", j), weighted(moved), pods)))

    def _stays(self, podset: PodSet, spot: Spot, pods: int) -> tuple[int, int]:
        """Fewest and most pods that stay on a spot."""
        if self.around is not None and self.around.holds(spot):
            there = self.around.placement.podsets[podset.index].get(spot, 0)
            return (there - self._came[podset.index].get(spot, 0),) * 2
        return (pods if self.may.fixed(podset.index) else 0), pods

    def _hold(self, around: Around, podset: PodSet) -> None:
        s = podset.index
        pods, use = around.arrived(self._came[s])
        for n, k in pods.items():
            self.arrive[s][n] = self.cp.new_int_var(k, k, f"arrive[{s},{n}]")
            for need in podset.devices:
                for d in self.instance.nodes[n].devices_of(need.device_class):
                    k = use.get((n, d), 0)
                    self.use[s][n, d] = self.cp.new_int_var(k, k, f"use[{s},{n},{d}]")

    def _most(self, podset: PodSet, n: int) -> int:
        """Most pods that could arrive on a node beside those that never leave it."""
        node = self.instance.nodes[n]
        most = podset.count
        if Rule.CAPACITY in self.rules:
            for amount, limit, taken in zip(
                podset.requests, node.capacity, self._fixed.node[n], strict=True
            ):
                if amount and limit is not None:
                    most = min(most, max(0, limit - taken) // amount)
        for need in podset.devices:
            of_class = node.devices_of(need.device_class)
            slots = Counter(self._fits(need, n, d, most) for d in of_class)
            most = min(most, distinct_groups(slots, need.count))
        return most

    def _fits(self, need: DeviceNeed, n: int, d: int, most: int) -> int:
        """Pods, at most so many, that fit on a device beside those that never leave it."""
        offer, taken_of = self.instance.nodes[n].devices[d].capacity, self._fixed.device[n][d]
        counts = Rule.DEVICES in self.rules
        rows = zip(need.request, offer, taken_of, strict=True) if counts else ()
        return min([most, *(max(0, have - taken) // ask for ask, have, taken in rows if ask)])

    def _by_node(self) -> list[list[tuple[int, IntVar, bool]]]:
        """Pod set, variable and whether it is an arrival, for each node."""
        found: list[list[tuple[int, IntVar, bool]]] = [[] for _ in self.instance.nodes]
        for podset in self.instance.podsets:
            s = podset.index
            for spot, var in self.stay[s].items():
                found[spot.node].append((s, var, False))
            for n, var in self.arrive[s].items():
                found[n].append((s, var, True))
        return found

    def _by_device(self) -> dict[tuple[int, int], list[tuple[int, IntVar, bool]]]:
        """Pod set, variable and whether it is an arrival, for each device of each node."""
        found: dict[tuple[int, int], list[tuple[int, IntVar, bool]]] = {}
        for podset in self.instance.podsets:
            s = podset.index
            for spot, var in self.stay[s].items():
                for d in spot.devices:
                    found.setdefault((spot.node, d), []).append((s, var, False))
            for (n, d), var in self.use[s].items():
                found.setdefault((n, d), []).append((s, var, True))
        return found

    # Expressions that read as sentences.

    def placed(self, s: int) -> LinearExprT:
        """Pods of a pod set that are placed."""
        return weighted([(v, 1) for v in (*self.stay[s].values(), *self.arrive[s].values())])

    def evicted(self, s: int) -> LinearExprT:
        """Pods of a running pod set that are evicted."""
        return self.instance.podsets[s].count - self.placed(s)

    def arrived(self, s: int) -> LinearExprT:
        """Pods of a pod set that arrive somewhere: bound, or moved if it runs."""
        return weighted([(v, 1) for v in self.arrive[s].values()])

    def role_placed(self, podsets: Iterable[int]) -> LinearExprT:
        """Pods of some pod sets that are placed."""
        return weighted([(self.placed(s), 1) for s in podsets])

    def load(self, key: Hashable, make: Callable[[], LinearExprT]) -> LinearExprT:
        """Return the sum of a key, made at the first call."""
        if key not in self._loads:
            self._loads[key] = make()
        return self._loads[key]

    def node_load(self, n: int, r: int) -> LinearExprT:
        """Amount of a resource that pods take of a node, in the resource's unit."""
        podsets = self.instance.podsets
        asks = ((var, podsets[s].requests[r]) for s, var, _ in self.on_node[n])
        return self.load((n, r), lambda: self._amount(r, asks))

    def device_load(self, n: int, d: int, r: int) -> LinearExprT:
        """Amount of a resource that pods take of a device, in the resource's unit."""
        here = self.on_device.get((n, d), ())
        asks = ((var, self.device_request(s, n, d)[r]) for s, var, _ in here)
        return self.load((n, d, r), lambda: self._amount(r, asks))

    def _amount(self, r: int, asks: Iterable[tuple[IntVar, int]]) -> LinearExprT:
        return weighted([(var, amount // self.unit[r]) for var, amount in asks if amount])

    def device_request(self, s: int, n: int, d: int) -> tuple[int, ...]:
        """Return what one pod of a pod set takes of a device that it occupies."""
        device_class = self.instance.nodes[n].devices[d].device_class
        for need in self.instance.podsets[s].devices:
            if need.device_class == device_class:
                return need.request
        return (0,) * len(self.instance.resources)

    def queue_use(self, q: int, r: int) -> LinearExprT:
        """Amount of a resource that the pods of a queue take, in base units."""
        return weighted(
            [
                (self.total(podset.index), podset.demand[r])
                for podset in self.instance.podsets
                if podset.demand[r] and self.instance.jobs[podset.job].queue == q
            ]
        )

    def total(self, s: int) -> IntVar:
        """Pods of a pod set that are placed, as one variable: keeps sums over pod sets short."""

        def make() -> IntVar:
            total = self.cp.new_int_var(0, self.instance.podsets[s].count, f"total[{s}]")
            self.cp.add(total == self.placed(s))
            return total

        return self.once(("total", s), make)

    def about(self, kind: str, *which: int) -> None:
        """Say what the rule's constraints from here on are about."""
        self.subjects.append((len(self.cp.proto.constraints), (kind, *which)))

    def lazily(self, add: Callable[[], None]) -> None:
        """Add constraints: now, or where the model is lazy once a placement breaks them."""
        if self._lazy:
            self.later.append(add)
        else:
            add()

    # Questions, each asked at most once.

    def once(self, key: Hashable, make: Callable[[], IntVar]) -> IntVar:
        """Return the variable made under a key, making it at the first call."""
        if key not in self._made:
            first = len(self.cp.proto.constraints)
            self._made[key] = make()
            self.definitions.append((first, len(self.cp.proto.constraints)))
        return self._made[key]

    def positive(self, key: Hashable, expr: LinearExprT, most: int) -> IntVar:
        """Return a Boolean that is true if an expression of at most ``most`` is positive.

        It may also be true otherwise: nothing that asks is better off for it.
        """

        def make() -> IntVar:
            answer = self.cp.new_bool_var(str(key))
            self.cp.add(expr <= most * answer)
            return answer

        return self.once(key, make)

    def arrives(self, s: int, n: int) -> IntVar:
        """Whether pods of a pod set arrive on a node (true if they do)."""
        most = self.instance.podsets[s].count
        return self.positive(("arrives", s, n), self.arrive[s][n], most)

    def evicts(self, s: int) -> IntVar:
        """Whether pods of a running pod set are evicted (true if they are)."""
        return self.positive(("evicts", s), self.evicted(s), self.instance.podsets[s].count)

    def evicts_any(self, j: int) -> IntVar:
        """Whether pods of a job are evicted (true if they are)."""
        running = self.instance.running_of(j)
        total = weighted([(self.evicted(s), 1) for s in running])
        return self.positive(("evicts_any", j), total, self.instance.pods_of(running))

    def starts(self, j: int) -> IntVar:
        """Whether pending pods of a job are bound (only true if they are)."""

        def make() -> IntVar:
            answer = self.cp.new_bool_var(f"starts[{j}]")
            bound = weighted([(self.arrived(s), 1) for s in self.instance.pending_of(j)])
            self.cp.add(bound >= 1).only_enforce_if(answer)
            return answer

        return self.once(("starts", j), make)

    def satisfied(self, j: int) -> IntVar:
        """Whether a job is placed: a gang with its minimum, others with all (only true if so)."""

        def make() -> IntVar:
            answer = self.cp.new_bool_var(f"satisfied[{j}]")
            job = self.instance.jobs[j]
            for role in job.roles:
                least = role.min_count if job.is_gang else role.count
                if least:
                    self.cp.add(self.role_placed(role.podsets) >= least).only_enforce_if(answer)
            if job.min_count:
                self.cp.add(self.role_placed(job.podsets) >= job.min_count).only_enforce_if(answer)
            return answer

        return self.once(("satisfied", j), make)

    def at_least(self, key: Hashable, expr: LinearExprT, most: int) -> IntVar:
        """Return what an expression of at most ``most`` is above 0 (at least that much)."""

        def make() -> IntVar:
            answer = self.cp.new_int_var(0, most, str(key))
            self.cp.add(answer >= expr)
            return answer

        return self.once(key, make)

    def free(self, n: int, r: int, limit: int) -> LinearExprT:
        """Amount of a resource that is free on a node; 0 where more is taken than there is."""
        load, standing = self.node_load(n, r), self.standing.node[n][r]
        return self._left(("free", n, r), limit, load, self.unit[r], standing)

    def device_free(self, n: int, d: int, r: int) -> LinearExprT:
        """Amount of a resource that is free on a device."""
        limit = self.instance.nodes[n].devices[d].capacity[r]
        load = self.device_load(n, d, r)
        standing = self.standing.device[n][d][r]
        return self._left(("free", n, d, r), limit, load, self.unit[r], standing)

    def _left(
        self, key: Hashable, limit: int, load: LinearExprT, unit: int, standing: int
    ) -> LinearExprT:
        limited = {Rule.CAPACITY, Rule.DEVICES} <= self.rules
        if limited and standing <= limit:
            return limit - unit * load

        def make() -> IntVar:
            left = self.cp.new_int_var(0, limit, str(key))
            self.cp.add_max_equality(left, [0, limit - unit * load])
            return left

        return self.once(key, make)
