"""Nodes set apart for some jobs, and the strategies by which pods can be placed."""

from typing import Annotated, Literal

from pydantic import Field

from kantopt.schema.base import Part, Selector

StrategyName = Literal[
    "best-fit",
    "most-allocated",
    "least-allocated",
    "kube-default",
    "e-binpack",
    "spread",
    "fgd",
    "lookahead",
]


class Zone(Part):
    """Nodes set apart for some jobs, as Kant's E-Spread has it for inference."""

    nodes: Selector = Field(description="the nodes, by a label: KEY=VALUE or KEY")
    jobs: Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        description="patterns of the jobs (NAMESPACE/NAME or NAME, with * and ?) that belong "
        "there; when it is full they go elsewhere, and no other comes there, but for daemons"
    )
    strategy: StrategyName = Field(default="spread", description="how they are placed there")
