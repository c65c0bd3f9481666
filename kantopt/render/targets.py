"""Who can follow a plan: the targets of ``kantopt render``, by name.

A renderer is a pure function of a plan and of what is asked of it. It is loaded when it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from kantopt.schema.answers.plan import Plan

KueueApi = Literal["v1beta1", "v1beta2"]
TargetName = Literal["kubectl", "eviction-requests", "koordinator", "kueue", "slurm", "volcano"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a renderer; what a target has no use for is refused before."""

    shell: bool = False
    """A script for a shell, not the requests one by one."""
    gate: tuple[str, ...] = ()
    """Scheduling gates, beside our own, to remove from pods that are bound."""
    wave: int | None = None
    """The only wave to write."""
    evict_anyway: bool = False
    """Evict also where nobody knows what follows: for pods that the target cannot bind; kubectl
    and eviction-requests: pods that restart as well."""
    admission: bool = False
    """Kueue: write the admission itself, past its scheduler and quotas."""
    flavor: str | None = None
    """Kueue: flavor of all resources that are admitted."""
    kueue_api: KueueApi = "v1beta2"
    """Version of Kueue's objects."""

    def given(self) -> set[str]:
        """Names of the fields that are not as they are by default."""
        return {item.name for item in fields(self) if getattr(self, item.name) != item.default}


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a renderer has made of a plan."""

    text: str
    notes: tuple[str, ...]
    """What of the plan the text does not see to, for who does not read it before it is used."""


@dataclass(frozen=True, slots=True)
class Target:
    """A system that plans can be rendered for."""

    about: str
    """What comes out, in a few words."""
    function: str
    """``module:function`` that renders."""
    takes: frozenset[str] = frozenset()
    """Fields of :class:`Asked` that it has a use for."""

    def render(self, plan: Plan, asked: Asked) -> Rendered:
        """Render a plan."""
        module, _, name = self.function.partition(":")
        function: Callable[[Plan, Asked], Rendered] = getattr(import_module(module), name)
        return function(plan, asked)


TARGETS: dict[TargetName, Target] = {
    "kubectl": Target(
        "evictions with uid and resourceVersion, and patches of gated pods with tests that fail "
        "if the plan is stale; or a script that carries them out and can be run again",
        "kantopt.render.kubectl:render",
        frozenset({"shell", "gate", "evict_anyway"}),
    ),
    "eviction-requests": Target(
        "EvictionRequests of Kubernetes 1.37, which whoever answers for a pod carries out",
        "kantopt.render.eviction_requests:render",
        frozenset({"wave", "evict_anyway"}),
    ),
    "koordinator": Target(
        "migration jobs that reserve the new place first, reservations for pods that wait",
        "kantopt.render.koordinator:render",
        frozenset({"wave", "evict_anyway"}),
    ),
    "kueue": Target(
        "Workloads stopped, and node selectors of an admission check",
        "kantopt.render.kueue:render",
        frozenset({"wave", "evict_anyway", "admission", "flavor", "kueue_api"}),
    ),
    "slurm": Target(
        "a shell script of scontrol calls that checks first, goes on and takes back",
        "kantopt.render.slurm:render",
        frozenset({"evict_anyway"}),
    ),
    "volcano": Target(
        "commands that abort jobs, and node selectors of gated pods",
        "kantopt.render.volcano:render",
        frozenset({"wave", "evict_anyway"}),
    ),
}
