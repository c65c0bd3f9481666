"""What every document part has in common: strict, frozen, camelCase outside, nothing unknown."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel

from kantopt.schema.quantity import MAX_BASE, QUANTITY, parse_quantity

ApiVersion = Literal["kantopt/v1alpha1"]
API_VERSION: ApiVersion = "kantopt/v1alpha1"


class Part(BaseModel):
    """A part of a document. Unknown fields are errors; values are never converted."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        defer_build=True,  # few of the documents are met in a run
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        strict=True,
        validate_default=False,
    )


def _quantity(value: Any) -> Any:
    if isinstance(value, str | int) and not isinstance(value, bool):
        parse_quantity(value)
    return value


Quantity = Annotated[
    str | int,
    BeforeValidator(_quantity),
    WithJsonSchema(
        {
            "description": "a Kubernetes quantity: a whole number or a string such as 500m, 16Gi, "
            "1.5, at most 2^63-1",
            "type": ["string", "integer"],
            "pattern": QUANTITY,
            "minimum": 0,
            "maximum": MAX_BASE,
            "examples": ["500m", "16Gi", "1.5", 8],
        }
    ),
]
Name = Annotated[str, Field(min_length=1, max_length=253)]

SELECTOR = re.compile(r"^[^=,\s]+(=[^=,\s]*)?$")
Selector = Annotated[
    str,
    Field(
        pattern=SELECTOR.pattern,
        description="a label, KEY=VALUE, or KEY for any value of it",
    ),
]


LAST_YEAR = 9899
"""Of moments in UTC: beyond it a schedule might have no time left that a calendar can name."""


def _moment(value: str) -> str:
    try:
        moment = datetime.fromisoformat(value).astimezone(UTC)
    except OverflowError:
        raise ValueError("before or after all that a calendar can name") from None
    if moment.year > LAST_YEAR:
        raise ValueError(f"after the year {LAST_YEAR}")
    return value


Timestamp = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
        r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$",
        description="RFC 3339, for example 2026-09-01T03:00:00Z: a day that the calendar has, "
        f"not after the year {LAST_YEAR}",
        examples=["2026-09-01T03:00:00Z", "2026-09-01T05:00:00+02:00"],
        json_schema_extra={"format": "date-time"},
    ),
    AfterValidator(_moment),
]
Duration = Annotated[
    str,
    Field(
        min_length=2,
        pattern=r"^([0-9]{1,6}d)?([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,9}s)?$",
        description="days, hours, minutes and seconds, for example 90s, 30m, 1h30m",
        examples=["90s", "15m", "1h30m", "2d"],
    ),
]
Count = Annotated[int, Field(ge=0, le=10_000_000)]
PositiveCount = Annotated[int, Field(ge=1, le=10_000_000)]
Priority = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
Replicas = Annotated[int, Field(ge=0, le=10_000)]


class Metadata(Part):
    """What a document is called and where it comes from."""

    name: str = Field(default="", description="name of the document")


class Document(Part):
    """What stands by itself in a file; each kind of document says its own."""

    api_version: ApiVersion = Field(description="version of this form")
    kind: str


class Expression(Part):
    """One requirement on a label, as in a Kubernetes selector."""

    key: str = Field(min_length=1, description="label key")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"] = Field(
        description="how the label's value is compared; Gt and Lt compare whole numbers"
    )
    values: tuple[str, ...] = Field(default=(), description="values to compare with")


class LabelSelector(Part):
    """Selects pods by their labels; an empty selector selects all."""

    match_labels: dict[str, str] = Field(default_factory=dict, description="labels that must equal")
    match_expressions: tuple[Expression, ...] = Field(
        default=(), description="requirements that must all hold"
    )


class Toleration(Part):
    """A taint that a pod tolerates, as in Kubernetes."""

    key: str = Field(default="", description="taint key; empty with Exists tolerates every key")
    operator: Literal["Exists", "Equal"] = Field(default="Equal", description="how to compare")
    value: str = Field(default="", description="taint value, for Equal")
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(
        default="", description="effect tolerated; empty means all"
    )
    toleration_seconds: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)] | None = Field(
        default=None,
        description="seconds after which a NoExecute taint evicts all the same: pods are not "
        "placed on such a node",
    )


class HostPort(Part):
    """A port of its node that each pod holds; nobody else there may use it at that address."""

    host_port: Annotated[int, Field(ge=1, le=65535)] = Field(description="number of the port")
    protocol: Literal["TCP", "UDP", "SCTP"] = Field(default="TCP", description="its protocol")
    host_ip: str = Field(
        default="",
        alias="hostIP",
        description="address of the node; empty or 0.0.0.0: all of its addresses",
    )

    @property
    def everywhere(self) -> bool:
        """Whether it is held on all addresses of the node."""
        return self.host_ip in ("", "0.0.0.0")

    def excludes(self, other: Self) -> bool:
        """Whether no node can have both."""
        same = (self.host_port, self.protocol) == (other.host_port, other.protocol)
        return same and (self.host_ip == other.host_ip or self.everywhere or other.everywhere)
