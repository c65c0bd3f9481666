"""What a model may say more without asking for anything else: limits, goals, wishes of nobody."""

from __future__ import annotations

from typing import Any

from kantopt.schema.jobs import Job
from kantopt.schema.model import Limits, Objective
from kantopt.schema.objectives import (
    BalanceObjective,
    ClassObjective,
    ClusterObjective,
    NoParameters,
    TotalObjective,
)
from kantopt.schema.schedule import Schedule, Window
from kantopt.schema.stays import LIFTABLE
from scripts.bench.features.stated import Stated, each_job, metrics_of, only_if, with_model


def _plenty(stated: Stated) -> int:
    """Far more than pods could move or be evicted, stop-overs counted."""
    return 200 + 10 * sum(podset.count for _, podset in stated.pod_sets())


def _limited(stated: Stated, *names: str) -> Stated:
    plenty = _plenty(stated)
    limits = stated.asked.limits
    more = {name: plenty for name in names if getattr(limits, name) is None}
    only_if(bool(more))
    return with_model(stated, limits=limits.model_copy(update=more))


def limit_moves(stated: Stated) -> Stated:
    """At most ten times as many moves as there are pods."""
    return _limited(stated, "moves")


def limit_evictions(stated: Stated) -> Stated:
    """At most ten times as many evictions as there are pods."""
    return _limited(stated, "evictions")


def limit_waves(stated: Stated) -> Stated:
    """As many pods on the move at any one time."""
    return _limited(stated, "moves_per_wave")


def limits_of_parts(stated: Stated) -> Stated:
    """As many moves of each job and namespace, to and from each node."""
    names = ("moves_per_job", "moves_per_namespace", "arrivals_per_node", "departures_per_node")
    return _limited(stated, *names)


def limit_min_runtime(stated: Stated) -> Stated:
    """Pods stay that have run for less than no time at all, and of none it is known how long."""
    only_if(stated.asked.limits.min_runtime is None)
    limits: Limits = stated.asked.limits.model_copy(update={"min_runtime": "0s"})
    return with_model(stated, limits=limits)


def max_moves(stated: Stated) -> Stated:
    """Of each job ten times as many moves as there are pods."""
    plenty = _plenty(stated)
    return each_job(stated, lambda job: {"max_moves": plenty} if job.max_moves is None else {})


def max_moves_at_once(stated: Stated) -> Stated:
    """Of each job all pods at a time."""

    def all_at_once(job: Job) -> dict[str, Any]:
        pods = sum(podset.count for podset in job.pod_sets)
        return {} if job.max_moves_at_once is not None else {"max_moves_at_once": pods}

    return each_job(stated, all_at_once)


def rules_off(stated: Stated) -> Stated:
    """Rules are off that speak of nobody."""
    asked = [podset for _, podset in stated.pod_sets()]
    wishes = [podset.topology_request for podset in asked]
    wishes += [job.topology_request for job in stated.jobs]
    requests = [wish for wish in wishes if wish is not None]
    used = {
        "anti_affinity": any(p.pod_anti_affinity or p.exclusive_claims for p in asked),
        "affinity": any(p.pod_affinity for p in asked),
        "spread": any(p.topology_spread_constraints for p in asked),
        "quota": bool(stated.snapshot.queues),
        "disruption": bool(stated.snapshot.pod_disruption_budgets),
        "devices": any(p.devices for p in asked),
        "slices": any(r.pod_set_slice_size is not None for r in requests),
        "topology": any(r.required is not None for r in requests),
        "gang_victims": any(job.disruption_mode == "all" for job in stated.jobs),
    }
    off = {name: "off" for name, speaks in used.items() if not speaks}
    return with_model(stated, rules=stated.asked.rules.model_copy(update=off))


def goal_reached(stated: Stated) -> Stated:
    """First of all a goal that every plan reaches: no more nodes in use than there are."""
    nodes = ClassObjective(target=len(stated.snapshot.nodes))
    only_if("nodes_in_use" not in metrics_of(stated.asked))
    known = stated.asked.objectives or ()
    return with_model(stated, objectives=(Objective(nodes_in_use=nodes), *known))


def objectives_of_nobody(stated: Stated) -> Stated:
    """Last some metrics that are 0 whatever is planned: nobody drained, nobody who waits so far."""
    only_if(all(job.creation_time is None for job in stated.jobs) and not stated.asked.drain)
    more = (Objective(undrained=ClusterObjective()), Objective(waiting=NoParameters()))
    return with_objectives(stated, *more)


def never_overfull(stated: Stated) -> Stated:
    """Last the load of nodes above all that they offer, which is none."""
    balance = BalanceObjective(target=100, resources=("cpu",))
    only_if(all("cpu" in node.allocatable for node in stated.snapshot.nodes))
    return with_objectives(stated, Objective(balance=balance))


def with_objectives(stated: Stated, *more: Objective) -> Stated:
    """Add objectives that the model has not, as the last ones."""
    known = stated.asked.objectives or ()
    names = metrics_of(stated.asked)
    added = tuple(objective for objective in more if objective.name not in names)
    return with_model(stated, objectives=(*known, *added))


def objective_implied(stated: Stated) -> Stated:
    """Last a sum of the evictions and moves that the tiers above have settled."""
    known = metrics_of(stated.asked)
    only_if("moves" in known and "disruption_cost" not in known)
    return with_objectives(stated, Objective(disruption_cost=TotalObjective()))


def pending_all(stated: Stated) -> Stated:
    """Pending pods of all jobs are asked for by a pattern that all names match."""
    only_if(stated.asked.pending is None)
    return with_model(stated, pending=("*",))


def disturb(stated: Stated) -> Stated:
    """All that keeps imported pods where they are is lifted; nobody is imported."""
    return with_model(stated, disturb=LIFTABLE)


def min_benefit(stated: Stated) -> Stated:
    """A least benefit per disturbed pod, which only ``kantopt defrag`` asks for."""
    return with_model(stated, min_benefit="1m")


def schedule(stated: Stated) -> Stated:
    """Windows and a bandwidth, which have no say in what is planned."""
    window = Window(cron="0 2 * * SAT", timezone="Europe/Berlin", duration="4h")
    return with_model(stated, schedule=Schedule(bandwidth="10Gi", windows=(window,)))
