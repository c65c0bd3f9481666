"""What the victims of a plan would do next, as a plan tells it."""

from pydantic import Field

from kantopt.schema.base import Count, Part, PositiveCount


class Pushed(Part):
    """Pods of one job that a returning victim would push out."""

    job: str = Field(description="NAMESPACE/NAME of the job")
    priority: int = Field(description="its priority")
    pods: PositiveCount = Field(description="pods that would be evicted")
    for_job: str | None = Field(
        default=None, alias="for", description="victim of the round before that takes the room"
    )


class CascadeRound(Part):
    """What happens if the victims of the round before, at first the plan's, are queued again."""

    returned_pods: Count = Field(description="pods of these victims that find a place again")
    waiting_pods: Count = Field(description="pods of these victims that find none")
    evicted: tuple[Pushed, ...] = Field(default=(), description="whom they would push out")


class Cascade(Part):
    """The plan replayed with its victims in the queue, by the fast path and without moves."""

    depth: Count = Field(description="rounds in which somebody would be pushed out")
    complete: bool = Field(
        description="whether the last round pushes nobody out; false if the time ended it"
    )
    rounds: tuple[CascadeRound, ...] = Field(default=(), description="one after the other")
