"""How the input of an answer was read, which the answer remembers."""

from typing import Literal

from pydantic import Field

from kantopt.schema.base import Document, Metadata, Part


class ReadAs(Part):
    """How the input of a plan was read: whoever reads that cluster again reads it alike."""

    source: Literal["kubernetes", "slurm", "kantopt"] = Field(
        description="kubernetes: objects of a cluster; slurm: what its commands show; kantopt: "
        "documents like this one"
    )
    gated: bool = Field(
        default=False, description="pods held back by scheduling gates counted as pending"
    )
    pending: tuple[str, ...] = Field(
        default=(),
        description="patterns NAMESPACE/NAME of what counted as pending; none: everything",
    )
    topology: tuple[str, ...] = Field(
        default=(), description="node labels named as topology levels; none: they were found out"
    )


class ClusterAnswer(Document):
    """What answers about one cluster begin with."""

    metadata: Metadata = Field(default_factory=Metadata, description="name of the cluster")
    read_as: ReadAs | None = Field(
        default=None, description="how the cluster was read; none: from documents of kantopt"
    )
