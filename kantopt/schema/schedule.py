"""When a plan may be carried out, and how fast: a part of the ``Model`` document."""

from pydantic import Field

from kantopt.schema.base import Duration, Part, Quantity


class Window(Part):
    """A time in which waves that disturb running pods may start."""

    cron: str = Field(
        description="when it opens: minute, hour, day of month, month, day of week, as in crontab"
    )
    timezone: str = Field(default="UTC", description="whose time that is: Europe/Berlin")
    duration: Duration = Field(description="how long it stays open")


class Schedule(Part):
    """What is known of when, and how fast, a plan is carried out.

    No say in what is planned, but that ``migration_cost`` asks for the bandwidth.
    """

    bandwidth: Quantity | None = Field(
        default=None,
        description="bytes of memory a second that a node can send, and as many that it can "
        "receive, while pods move live",
    )
    windows: tuple[Window, ...] = Field(
        default=(),
        description="waves that evict or move pods start in one of these; default: at any time",
    )
