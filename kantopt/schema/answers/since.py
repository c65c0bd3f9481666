"""What a plan has that the one of the run before had not, and the other way round."""

from pydantic import Field

from kantopt.schema.base import Part


class Changed(Part):
    """Something about which two plans say different things."""

    subject: str = Field(
        description="a pod, a pod set whose pods have no names, or a job that stays pending"
    )
    was: str = Field(description="what the plan before says of it")
    now: str = Field(description="what this plan says")


class SinceLastPlan(Part):
    """Two plans compared, line by line: steps, and jobs that stay pending."""

    last_plan: str = Field(description="identity of the plan before")
    last_captured_at: str | None = Field(
        default=None, description="moment of the snapshot that it was made for"
    )
    new: tuple[str, ...] = Field(default=(), description="what only this plan says")
    gone: tuple[str, ...] = Field(
        default=(), description="what only the plan before says, and is not done either"
    )
    done: tuple[str, ...] = Field(
        default=(), description="steps of the plan before that have been taken since"
    )
    changed: tuple[Changed, ...] = Field(default=(), description="what both say otherwise")

    @property
    def is_empty(self) -> bool:
        """Whether both plans say the same."""
        return not (self.new or self.gone or self.done or self.changed)
