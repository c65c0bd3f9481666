"""Room of a node that is reserved: whose it is, and how it is given."""

from pydantic import Field

from kantopt.schema.base import LabelSelector, Part, Timestamp


class OwnedBy(Part):
    """The controller of pods, as far as it is told."""

    namespace: str = Field(default="", description="namespace of the pods")
    api_version: str = Field(default="", description="version of the kind")
    kind: str = Field(default="", description="its kind")
    name: str = Field(default="", description="its name")
    uid: str = Field(default="", description="its uid")


class ReservedFor(Part):
    """Pods of which all holds that is told here; nothing told: all pods."""

    namespace: str = Field(default="", description="namespace of the pod")
    name: str = Field(default="", description="its name")
    uid: str = Field(default="", description="its uid")
    controller: OwnedBy | None = Field(
        default=None, description="its controller; none: it may have any, or none"
    )
    label_selector: LabelSelector | None = Field(
        default=None, description="its labels; none: it may have any"
    )


class Reservation(Part):
    """Reserved room: nobody but its owners gets it."""

    owners: tuple[ReservedFor, ...] = Field(
        default=(), description="whose it is: pods that any of these describes"
    )
    once: bool = Field(default=True, description="for the first owner alone; false: for all")
    restricted: bool = Field(
        default=False, description="of what is reserved an owner gets nothing from the node besides"
    )
    closed: bool = Field(default=False, description="takes no owner now")
    until: Timestamp | None = Field(default=None, description="when it is over; none: never")
