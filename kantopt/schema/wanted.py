"""What a plan before wants of pods, as a part of the question: counted by node, not by name."""

from typing import Literal

from pydantic import Field

from kantopt.schema.base import Name, Part, PositiveCount


class Wanted(Part):
    """Where the last plan wants the pods of one pod set to be in the end."""

    job: Name = Field(description="the job, NAMESPACE/NAME")
    pod_set: Name = Field(alias="podSet", description="name of the pod set")
    state: Literal["running", "pending"] = Field(
        description="whether it speaks of the pods that run now or of those that wait"
    )
    nodes: dict[Name, PositiveCount] = Field(
        default_factory=dict,
        description="pods by node; running pods beyond these are wanted nowhere: evicted",
    )
