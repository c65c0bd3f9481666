"""What a plan leaves out: what is not modelled, what nobody asked about, what is held back."""

from collections.abc import Sequence

from pydantic import Field

from kantopt.schema.base import Count, Part, PositiveCount
from kantopt.schema.features import Feature
from kantopt.schema.hints import plural


class NotModelled(Part):
    """Pods that ask for what is not modelled: left alone, or planned as if they did not ask."""

    features: tuple[Feature, ...] = Field(min_length=1, description="what they ask for")
    assumed: bool = Field(
        description="false: they are left where they are, or left out; true: the model assumes it "
        "all, and they are planned like others"
    )
    pending: Count = Field(description="pending pods, of gangs all that wait with such a pod")
    running: Count = Field(description="running pods that could be moved or evicted otherwise")


class LeftAside(Part):
    """Pending jobs that the question leaves aside, though they may well be placed first.

    They are no less important than the least important one that it asks about.
    """

    jobs: PositiveCount = Field(description="jobs that wait and are not asked about")
    pods: PositiveCount = Field(description="their pods that wait")


def aside_words(aside: LeftAside) -> str:
    """Count what is left aside, in words."""
    pods = plural(aside.pods, "pod")
    return f"left aside: {plural(aside.jobs, 'job')} ({pods}) no less important"


class HeldBack(Part):
    """Pods that may not start yet and do not count as pending, unless ``--gated`` says so.

    Scheduling gates hold them back; in Slurm jobs are held, or wait for others or for a time.
    """

    jobs: PositiveCount = Field(description="jobs of which pods are held back")
    pods: PositiveCount = Field(description="the pods that are held back")


def stricter_words(rules: Sequence[str]) -> str:
    """Say what else a proof holds by; begins with a comma if there is anything."""
    return f", with {' and '.join(rules)} stricter than kube-scheduler's" if rules else ""
