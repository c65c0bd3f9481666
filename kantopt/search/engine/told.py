"""What any search tells whoever waits for it, in words that another process understands."""

from __future__ import annotations

from dataclasses import dataclass

from kantopt.problem.placement import Spots


@dataclass(frozen=True, slots=True)
class Found:
    """A placement, by pod set: of the search a legal one, to the search one from elsewhere."""

    podsets: tuple[Spots, ...]


@dataclass(frozen=True, slots=True)
class Begun:
    """A technique is at work: what follows is found and proved by it."""

    technique: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A technique does not run now, and why not."""

    technique: str
    why: str


@dataclass(frozen=True, slots=True)
class Asked:
    """Parameters with which CP-SAT is at work on a question, or a part of it, tier after tier."""

    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """What the reader of the plan should know of the search."""

    text: str
