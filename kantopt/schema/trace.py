"""The ``Trace`` document: jobs that come to a cluster over time, and nodes that fail."""

from typing import Literal

from pydantic import Field

from kantopt.schema.base import Document, Duration, Metadata, Name, Part, Replicas
from kantopt.schema.jobs import Job


class Scaling(Part):
    """Another number of replicas, since the load of a service has changed."""

    after: Duration = Field(description="when, after the job's arrival")
    replicas: Replicas = Field(
        description="replicas from then on: new ones wait as any job that comes, and those that "
        "came last leave at once"
    )


class TraceJob(Job):
    """A job with the time at which it comes and the time that it runs."""

    arrival: Duration = Field(description="when it is submitted, after the start of the trace")
    duration: Duration = Field(
        description="how long it runs once started, undisturbed, whatever pods it has above its "
        "minimum"
    )
    estimate: Duration | None = Field(
        default=None,
        description="how long its user says that it runs at most; default: its duration",
    )
    user: str = Field(default="", description="who submitted it")
    checkpoint_interval: Duration | None = Field(
        default=None,
        description="how often it saves its work, which is then not lost when it is disturbed; "
        "default: never",
    )
    scale: tuple[Scaling, ...] = Field(
        default=(),
        description="changes of replicas, in order of time; each replica runs for duration unless "
        "it is told to leave before",
    )


class Outage(Part):
    """A node that fails and is repaired."""

    node: Name = Field(description="name of the node")
    at: Duration = Field(description="when it fails, after the start of the trace")
    lasts: Duration = Field(description="time until it is repaired")


class Ending(Part):
    """A job of the snapshot that ends; others run on."""

    job: str = Field(description="NAMESPACE/NAME, or NAME")
    after: Duration = Field(description="when it ends, after the start of the trace")


class Trace(Document):
    """Jobs over time, for one cluster or any."""

    kind: Literal["Trace"] = Field(description="Trace")
    metadata: Metadata = Field(default_factory=Metadata, description="name of the trace")
    resolution: Duration = Field(default="1s", description="what its times are exact to")
    notes: tuple[str, ...] = Field(
        default=(), description="what is unknown or assumed, of estimates for example"
    )
    jobs: tuple[TraceJob, ...] = Field(default=(), description="the jobs, in order of arrival")
    outages: tuple[Outage, ...] = Field(default=(), description="nodes that fail")
    endings: tuple[Ending, ...] = Field(default=(), description="running jobs that end")
