"""The jobs' side of a question: gangs, roles, pod sets and what they ask of a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from kantopt.problem.cluster import Amounts, Spot
from kantopt.schema.eligibility import Mark
from kantopt.schema.features import Feature
from kantopt.schema.stays import Cause, Fixed


@dataclass(frozen=True, slots=True, order=True)
class DeviceNeed:
    """``count`` distinct devices of a class, each giving up ``request``."""

    device_class: str
    count: int
    request: Amounts


@dataclass(frozen=True, slots=True)
class AntiAffinity:
    """Pods of ``owner`` share no domain of ``key`` with pods of ``others``.

    ``owner`` itself may be among the others: then a domain holds at most one of its pods.
    """

    owner: int
    key: str
    others: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Affinity:
    """Pods of ``owner`` arrive only in domains of all ``keys`` that have one of ``anchors``.

    ``founds`` says that one of them may be the first: ``owner`` is among the anchors itself, and
    none of their like is on its way out, or only about to come, anywhere.
    """

    owner: int
    keys: tuple[str, ...]
    anchors: tuple[int, ...]
    founds: bool


@dataclass(frozen=True, slots=True)
class Spread:
    """Where pods of ``owner`` arrive, a domain of ``key`` exceeds none by more than ``max_skew``.

    Counted are the pods of ``counted`` on the nodes ``over``. With fewer than ``min_domains``
    domains the emptiest counts as 0.
    """

    owner: int
    key: str
    max_skew: int
    min_domains: int
    counted: tuple[int, ...]
    over: frozenset[int]


@dataclass(frozen=True, slots=True)
class Wish:
    """A pod of ``owner`` would rather be in a domain of ``key`` with one of ``others``.

    Or, if ``apart``, in one without. It loses ``weight`` where it is not so; itself does not count.
    """

    owner: int
    key: str
    others: tuple[int, ...]
    weight: int
    apart: bool


@dataclass(frozen=True, slots=True)
class Even:
    """Pods of ``counted`` would rather lie evenly over the domains of ``key`` on ``over``.

    As :class:`Spread`, but what exceeds the emptiest domain by more than ``max_skew`` is counted.
    """

    key: str
    max_skew: int
    min_domains: int
    counted: tuple[int, ...]
    over: frozenset[int]


@dataclass(frozen=True, slots=True)
class PodSet:
    """``count`` identical pods of one role of one job: either all running or all pending.

    A role with running and with pending pods makes two pod sets. ``current`` says where the
    running ones are; it is empty for pending ones.
    """

    index: int
    job: int
    role: int
    name: str
    count: int
    requests: Amounts
    devices: tuple[DeviceNeed, ...]
    demand: Amounts
    """Requests and all device requests of one pod together."""
    gpu_milli: int
    current: Mapping[Spot, int]
    allowed: frozenset[int]
    """Nodes that selector, affinity and tolerations admit, whatever else is there."""
    emptied: frozenset[int]
    """Nodes that would be among those, were they not to be emptied: pods may be there already."""
    spread_over: frozenset[int]
    """Nodes that selector and affinity admit: those that most spread constraints look at."""
    preemptible: bool
    movable: bool
    disruption_cost: int
    budgets: tuple[int, ...]
    closed: Mapping[int, Mark] = field(default_factory=dict)
    """Nodes that a taint closes for its pods, the cordon's and that of being not ready included."""
    daemon: bool = False
    """Belongs to its node: a node with nothing else is empty."""
    leaving: bool = False
    """It is being deleted: it leaves its node by itself."""
    lost_gpu_seconds: int = 0
    """Work of one running pod that is lost if it ends; 0 where the model does not ask."""
    dirty_rate: int = 0
    """Bytes of memory that one pod writes in a second."""
    migration_mib: int = 0
    """MiB that a move of one running pod copies, rounded up; 0 where the model does not ask."""
    losses: Mapping[int, int] = field(default_factory=dict)
    """What a pod loses on each node for labels and taints that it would rather have or not."""
    stays: tuple[Cause | Fixed | Feature | Literal["nominated", "exempt"], ...] = ()
    """Why an import left pods where they are that run, or for which room is made."""
    wanted: Mapping[int, int] | None = None
    """Pods on each node as the last plan wants it; ``None``: it leaves them as they are, or the
    model does not ask."""
    running: bool = field(init=False)
    """Whether the pods run now."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "running", bool(self.current))

    @property
    def is_drained(self) -> bool:
        """Whether somebody has to take its pods off a node that is to be emptied."""
        return not (self.daemon or self.leaving)

    @property
    def nominated(self) -> bool:
        """Whether its pods only wait on their node for the room that others leave."""
        return "nominated" in self.stays


@dataclass(frozen=True, slots=True)
class Role:
    """A role of a job: at most one running and one pending pod set."""

    name: str
    count: int
    min_count: int
    running: int | None
    pending: int | None
    podsets: tuple[int, ...] = field(init=False)
    """Indices of the pod sets, running first."""

    def __post_init__(self) -> None:
        podsets = tuple(s for s in (self.running, self.pending) if s is not None)
        object.__setattr__(self, "podsets", podsets)


@dataclass(frozen=True, slots=True)
class Job:
    """A gang: its roles start together, or not at all."""

    index: int
    name: str
    """NAMESPACE/NAME."""
    priority: int
    may_preempt: bool
    queue: int | None
    """Queue whose quota its pods use where they run; one that holds its quota is in none."""
    roles: tuple[Role, ...]
    min_count: int
    """Fewest pods over all roles; 0 if only the roles' own minima count."""
    move_mode: Literal["restart", "live"]
    all_victims: bool
    """Evicting one pod evicts them all."""
    disruption_cost: int
    waited_seconds: int
    created: int | None = None
    """Microseconds since 1970 when it was submitted; who does not say counts as the newest."""
    ran_seconds: int = 0
    """Since its start; of interest only to those who evict the latest first."""
    max_moves: int | None = None
    """Most moves of its pods that it bears itself, stop-overs included."""
    most_moves: int | None = None
    """Most of its pods that it and the model let move, if not all of them may."""
    moves_at_once: int | None = None
    """Most of its pods that may be on the move together, if not all of them may."""
    owner: int | None = None
    """Queue whose fair share its pods count for, where the model asks."""
    podsets: tuple[int, ...] = field(init=False)
    """Indices of the pod sets of all roles."""
    is_gang: bool = field(init=False)
    """Whether fewer than some number of pods are worth nothing."""
    waits: bool = field(init=False)
    """Whether pods of it are pending."""

    @property
    def namespace(self) -> str:
        """Namespace of the job."""
        return self.name.partition("/")[0]

    @property
    def count(self) -> int:
        """Pods of all roles."""
        return sum(role.count for role in self.roles)

    @property
    def least(self) -> int:
        """Pods without which a gang is not placed, over all roles; of other jobs 0."""
        return max(self.min_count, sum(role.min_count for role in self.roles))

    def needed(self, role: Role) -> int:
        """Return the pods of a role without which it is not placed, whatever the others have."""
        if not self.is_gang:
            return role.count
        return max(role.min_count, self.min_count - (self.count - role.count))

    def placed_with(self, counts: Sequence[int]) -> bool:
        """Whether it is placed with so many pods of each role: a gang's minimum, else all pods."""
        if not self.is_gang:
            return all(k >= role.count for k, role in zip(counts, self.roles, strict=True))
        return sum(counts) >= self.min_count and all(
            k >= role.min_count for k, role in zip(counts, self.roles, strict=True)
        )

    def move_limit(self, per_job: int | None) -> int | None:
        """Return the most moves of its pods where a model limits those of each job."""
        return min((n for n in (self.max_moves, per_job) if n is not None), default=None)

    def __post_init__(self) -> None:
        # Asked for all the time: worked out once.
        gang = self.min_count > 0 or any(role.min_count > 0 for role in self.roles)
        podsets = tuple(s for role in self.roles for s in role.podsets)
        object.__setattr__(self, "podsets", podsets)
        object.__setattr__(self, "is_gang", gang)
        waits = any(role.pending is not None for role in self.roles)
        object.__setattr__(self, "waits", waits)


@dataclass(frozen=True, slots=True)
class TopologyNeed:
    """Closeness asked for the pods of some roles of one job together; levels are indices."""

    index: int
    job: int
    roles: tuple[int, ...]
    required: int | None
    preferred: int | None
    slice_level: int | None
    slice_size: int

    @property
    def within(self) -> int:
        """Finest level within whose domains pods have to stay together; -1 if they need not."""
        levels = (level for level in (self.required, self.slice_level) if level is not None)
        return max(levels, default=-1)
