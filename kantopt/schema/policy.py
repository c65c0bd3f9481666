"""The ``Policy`` document: how a cluster is run over time."""

from typing import Literal

from pydantic import Field

from kantopt.schema.base import Count, Document, Duration, Metadata, Part, PositiveCount
from kantopt.schema.zone import StrategyName, Zone

_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9]"


class Queueing(Part):
    """Which waiting job is looked at first, and who may pass it."""

    order: Literal["fifo", "priority", "fair-share", "virtual-finish"] = Field(
        default="fifo",
        description="fifo: by arrival; priority: the highest first, then by arrival; fair-share: "
        "whose owner uses the smallest dominant share for its weight; virtual-finish: by the time "
        "at which it would end if all owners shared the cluster evenly",
    )
    backfill: Literal["none", "best-effort", "easy", "conservative"] = Field(
        default="best-effort",
        description="none: nobody passes one that does not fit; best-effort: everybody who fits; "
        "easy: who does not delay the first that waits; conservative: who delays none before it",
    )
    depth: PositiveCount = Field(
        default=100, description="most waiting jobs that have a reservation, with conservative"
    )
    preemption: bool = Field(
        default=False, description="jobs of lower priority are evicted for others that wait"
    )
    reclaim: bool = Field(
        default=False,
        description="jobs of a queue that borrows are evicted for those of one within its share",
    )
    preempt_backfilled: bool = Field(
        default=False,
        description="jobs that passed the reserved one are evicted if it could start without "
        "them, whatever their priority",
    )
    share_by: Literal["user", "queue"] = Field(
        default="user", description="whose shares count: the owners"
    )
    weights: dict[str, PositiveCount] = Field(
        default_factory=dict, description="weight of owners by name; default 1"
    )


class Planner(Part):
    """The planner in the place of a strategy: all that waits, planned together.

    A cycle looks at the cluster and the first of the queue as they are when it begins; its plan is
    carried out when its time limit has passed, job by job as far as the rules still allow it. Who
    comes meanwhile waits for the next cycle, and the strategy places nobody but those that evict
    others by ``preemption`` or ``reclaim``, beside a model that evicts nobody. Pods that the plan
    moves or evicts are those that the model lets go; they go at once.
    """

    model: str = Field(default="training", description="model, by name or path")
    engine: Literal["fast", "exact", "auto"] = Field(
        default="fast", description="engine of `kantopt plan`; its limits are counted in work"
    )
    time_limit: Duration = Field(
        default="1s", description="limit of one cycle, charged to the clock as a whole"
    )
    period: Duration = Field(default="1m", description="least time from one cycle to the next")
    most: PositiveCount = Field(
        default=200, description="most waiting jobs in a cycle, the first of the queue"
    )


class Placement(Part):
    """Where jobs go that may start."""

    strategy: StrategyName = Field(
        default="e-binpack", description="strategy of the fast path, job by job"
    )
    zone: Zone | None = Field(default=None, description="nodes set apart")
    planner: Planner | None = Field(
        default=None, description="plans the waiting jobs together, in place of the strategy"
    )


class Defragmentation(Part):
    """Running pods moved together, every now and then.

    A round plans moves of the cluster as it is when it begins. When its time limit has passed the
    first wave of moves is made, and one more each ``waveTime``, as far as the rules still allow
    it; none once the hours of its ``window`` are over. A round that would begin before the one
    before is through is left out.
    """

    model: str = Field(default="defrag", description="model, by name or path")
    period: Duration = Field(default="1h", description="time from one round to the next")
    engine: Literal["fast", "exact", "auto"] = Field(
        default="fast", description="engine of `kantopt defrag`; its limits are counted in work"
    )
    time_limit: Duration = Field(default="5s", description="limit of one round")
    moves: Count = Field(default=50, description="most pods moved in a round")
    window: str | None = Field(
        default=None,
        pattern=rf"^{_CLOCK}-({_CLOCK}|24:00)$",
        description="hours of the day in which it may be done, from midnight at the start of the "
        "trace, as 22:00-06:00; default: always",
    )
    wave_time: Duration = Field(default="5m", description="time that one wave of moves takes")


class Policy(Document):
    """Queueing, placement and defragmentation of a cluster over time."""

    kind: Literal["Policy"] = Field(description="Policy")
    metadata: Metadata = Field(default_factory=Metadata, description="name of the policy")
    queueing: Queueing = Field(default_factory=Queueing, description="who is next")
    placement: Placement = Field(default_factory=Placement, description="where to")
    defragmentation: Defragmentation | None = Field(
        default=None, description="moves of running pods; default: none"
    )
    restart_time: Duration = Field(
        default="5m",
        description="time that pods need before they work again after they were moved or evicted",
    )
