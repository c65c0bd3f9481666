"""What a batch system has to say of a cluster and of each job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kantopt.formats.written.plain import Data
from kantopt.formats.written.pods import Marks
from kantopt.schema.jobs import Job
from kantopt.schema.snapshot import ClusterSnapshot


@dataclass(frozen=True, slots=True)
class Words:
    """How one job is said: objects beside its pods, and marks on them by role."""

    objects: Sequence[Data] = ()
    marks: Mapping[str, Marks] = field(default_factory=dict)
    remark: str = ""
    """What of the form in which it is said is worth a note."""
    has_pods: bool = True
    """False: the objects stand for pods that do not exist yet."""


@dataclass(frozen=True, slots=True)
class System:
    """A batch system's own objects, beside nodes, pods, classes and budgets."""

    cluster: Callable[[ClusterSnapshot, Sequence[Job]], Sequence[Data]]
    """Queues and topology."""
    job: Callable[[ClusterSnapshot, Job], Words]
    tells_topology: bool
    """Whether its objects say which labels are levels."""
