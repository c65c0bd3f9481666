"""Who can follow a plan: the targets of ``kantopt render``, by name.

A renderer is a pure function of a plan and of what is asked of it. It is loaded when it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from kantopt.schema.plan import Plan

TargetName = Literal["kubectl"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a renderer; what a target has no use for is refused before."""

    shell: bool = False
    """A script for a shell, not the requests one by one."""
    gate: str | None = None
    """Scheduling gate to remove from pods that are bound."""


@dataclass(frozen=True, slots=True)
class Target:
    """A system that plans can be rendered for."""

    about: str
    """What comes out, in a few words."""
    function: str
    """``module:function`` that renders."""
    takes: frozenset[str] = frozenset()
    """Fields of :class:`Asked` that it has a use for."""

    def render(self, plan: Plan, asked: Asked) -> str:
        """Render a plan."""
        module, _, name = self.function.partition(":")
        function: Callable[[Plan, Asked], str] = getattr(import_module(module), name)
        return function(plan, asked)


TARGETS: dict[TargetName, Target] = {
    "kubectl": Target(
        "evictions with uid and resourceVersion, and patches of gated pods with tests that fail "
        "if the plan is stale",
        "kantopt.render.kubectl:render",
        frozenset({"shell", "gate"}),
    ),
}
