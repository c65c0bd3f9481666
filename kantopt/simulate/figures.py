"""From simulations to the document that compares their policies.

What the command line calls::

    simulation = figures_of(histories, warm_up=0, name="cluster")
    kantopt.report.simulation.simulation_blocks(simulation, wide=False)  # list of blocks
    kantopt.report.simulation_pictures.simulation_pictures(simulation)  # SVG by file name
    kantopt.simulate.tables.write_tables("folder", histories, simulation)

``histories`` has one :class:`History` per policy and trace, in the order in which policies and
traces are to be shown; the first policy is the one that the others are compared with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from kantopt.planning.by_size import SIZES
from kantopt.schema.answers.simulation import Estimate, Measure, MeasureGroup, Simulation
from kantopt.schema.base import API_VERSION, Metadata
from kantopt.schema.hints import first_of, listed, plural
from kantopt.simulate.courses import courses_of
from kantopt.simulate.history import History, JobRecord
from kantopt.simulate.metrics.allocation import allocation, fragmentation
from kantopt.simulate.metrics.catalogue import GROUPS, Group
from kantopt.simulate.metrics.closeness import closeness
from kantopt.simulate.metrics.disturbance import disturbance
from kantopt.simulate.metrics.gpu_time import gpu_time
from kantopt.simulate.metrics.owners import owners
from kantopt.simulate.metrics.plans import plans
from kantopt.simulate.metrics.slowdown import slowdown
from kantopt.simulate.metrics.value import Value
from kantopt.simulate.metrics.waiting import ALL, waiting
from kantopt.simulate.metrics.window import Window
from kantopt.simulate.replicates import interval

MINUTE = 60_000
"""Milliseconds between the moments that medians are of, if nobody says."""
ShareBy = Literal["user", "queue"]
_OWNER: dict[ShareBy, Callable[[JobRecord], str]] = {
    "user": lambda job: job.user,
    "queue": lambda job: job.queue,
}
_SCOPES = (ALL, *SIZES)


def measure(
    window: Window,
    *,
    every: int = MINUTE,
    share_by: ShareBy = "user",
    weights: Mapping[str, int] | None = None,
) -> list[Value]:
    """Measure one simulation; parameters are those of :func:`figures_of`."""
    return [
        *allocation(window, every),
        *fragmentation(window, every),
        *gpu_time(window),
        *waiting(window),
        *closeness(window),
        *slowdown(window),
        *disturbance(window),
        *plans(window),
        *owners(window, _OWNER[share_by], weights or {}),
    ]


def figures_of(
    histories: Sequence[History],
    *,
    warm_up: int = 0,
    share_by: ShareBy = "user",
    weights: Mapping[str, int] | None = None,
    name: str = "",
) -> Simulation:
    """Measure simulations and compare their policies.

    Parameters
    ----------
    histories
        At least one; one per policy and trace.
    warm_up
        What is measured begins then, milliseconds since the start.
    share_by, weights
        Whose shares are compared, and their weights by name; 1 where it does not tell.
    name
        Name of the cluster.

    Raises
    ------
    UsageError
        If nothing of a simulation lies after ``warm_up``.
    ValueError
        If there is no history, two are of the same policy and trace, or one contradicts itself.
    """
    table = _Measured(histories)
    windows = [Window(history, warm_up) for history in histories]
    for window in windows:
        table.add(window, measure(window, share_by=share_by, weights=weights))
    return Simulation(
        api_version=API_VERSION,
        kind="Simulation",
        metadata=Metadata(name=name),
        policies=table.policies,
        traces=table.traces,
        begin=warm_up,
        end=max(window.end for window in windows),
        every=MINUTE,
        events=sum(history.events for history in histories),
        judged=sum(history.judged for history in histories),
        groups=tuple(table.group(group, share_by) for group in GROUPS),
        courses=tuple(courses_of(windows)),
        notes=tuple(_notes(windows)),
    )


class _Measured:
    """Values by metric and scope, and by policy and trace."""

    def __init__(self, histories: Sequence[History]) -> None:
        runs = [(history.policy, history.trace) for history in histories]
        if not runs:
            raise ValueError("expected one history at least")
        twice = sorted({run for run in runs if runs.count(run) > 1})
        if twice:
            raise ValueError("policy {} was simulated twice on trace {}".format(*twice[0]))
        self.policies = tuple(dict.fromkeys(policy for policy, _ in runs))
        self.traces = tuple(dict.fromkeys(trace for _, trace in runs))
        self._values: dict[str, dict[str, dict[tuple[str, str], Value]]] = {}

    def add(self, window: Window, values: Sequence[Value]) -> None:
        run = window.history.policy, window.history.trace
        for value in values:
            scopes = self._values.setdefault(value.metric, {})
            scopes.setdefault(value.scope, {})[run] = value

    def group(self, group: Group, owner: str) -> MeasureGroup:
        return MeasureGroup(
            name=group.name,
            title=group.title.format(owner=owner),
            by=group.by,
            formulas=group.formulas,
            measures=tuple(self._measures(group)),
        )

    def _measures(self, group: Group) -> Iterator[Measure]:
        for metric, (text, unit) in group.metrics.items():
            scopes = self._values.get(metric, {})
            for scope in sorted(scopes, key=_rank):
                runs = scopes[scope]
                yield Measure(
                    metric=metric,
                    scope=scope,
                    text=text,
                    unit=unit,
                    estimates=tuple(self._estimate(policy, runs) for policy in self.policies),
                )

    def _estimate(self, policy: str, runs: Mapping[tuple[str, str], Value]) -> Estimate:
        first = self.policies[0]
        found = [runs.get((policy, trace)) for trace in self.traces]
        base = [runs.get((first, trace)) for trace in self.traces]
        known = [each for each in found if each is not None]
        pairs = [
            (a, b) for a, b in zip(found, base, strict=True) if a is not None and b is not None
        ]
        whole = interval([each.value for each in known])
        apart = None if policy == first else interval([a.value - b.value for a, b in pairs])
        exact = not any(each.at_least for each in known)
        both = exact and not any(b.at_least for _, b in pairs)
        return Estimate(
            policy=policy,
            values=tuple(None if each is None else each.value for each in found),
            at_least=tuple(each is not None and each.at_least for each in found),
            mean=None if whole is None else whole.mean,
            half_width=whole.half_width if whole is not None and exact else None,
            difference=apart.mean if apart is not None and both else None,
            difference_half_width=apart.half_width if apart is not None and both else None,
        )


def _rank(scope: str) -> tuple[int, str]:
    """Size classes as they grow, owners by name."""
    return (_SCOPES.index(scope) if scope in _SCOPES else len(_SCOPES)), scope


def _notes(windows: Sequence[Window]) -> Iterator[str]:
    ends = sorted({window.end for window in windows})
    if len(ends) > 1:
        yield (
            f"the simulations end between {ends[0] // 1000} s and {ends[-1] // 1000} s: shares of "
            "time are over different times"
        )
    for window in windows:
        never = window.history.never
        refused = Counter(job.refused for job in window.arrived if job.refused)
        could_not = "could not even start in the empty cluster"
        if refused:
            why = first_of([reason for reason, _ in refused.most_common()], 1)
            yield f"{window.name}: {plural(refused.total(), 'job')} {could_not} ({why})"
        if never:
            jobs = f"{plural(len(never), 'job')} that waited before the trace"
            yield f"{window.name}: {jobs} {could_not}: {listed(never, 1)}"
