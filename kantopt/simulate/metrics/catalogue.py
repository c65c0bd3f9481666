"""All metrics over time: names, units, words and formulas, as tables and documents print them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kantopt.schema.answers.simulation import Unit


@dataclass(frozen=True, slots=True)
class Group:
    """Metrics that belong together."""

    name: str
    title: str
    """``{owner}`` in it is user or queue."""
    metrics: dict[str, tuple[str, Unit]]
    """Words and unit by name."""
    formulas: tuple[str, ...]
    by: Literal["", "size", "owner"] = ""


KANT = (
    "GAR, SOR, GFR, JWTD, JTTED are Kant-style: named by Kant (ZTE, arXiv 2510.01256), whose "
    "formulas were not at hand; those used here are a reconstruction"
)

_PARTS = {
    "running": "running",
    "restarting": "lost to restarts",
    "failed": "lost to failed nodes",
    "quota": "lost to quotas",
    "topology": "lost to topology",
    "fragmentation": "lost to fragmentation",
    "waiting": "lost to waiting",
    "idle": "no demand",
}
"""Of the GPU time, in words."""


def _closeness(one: str, many: str, used: str) -> Group:
    return Group(
        f"closeness-{one}s",
        f"D_{one} (JTTED): {many} over the fewest, by size in GPUs",
        {
            f"d_{one}_jobs": ("jobs", "jobs"),
            f"d_{one}_p50": ("p50", "ratio"),
            f"d_{one}_p90": ("p90", "ratio"),
            f"d_{one}_max": ("max", "ratio"),
            f"d_{one}_at_one": ("at 1.0", "share"),
        },
        (
            f"D_{one} = {used} / fewest that hold each role, and the sum of what all ask for, in "
            "the empty cluster; gangs of several pods, all needed",
            KANT,
        ),
        by="size",
    )


GROUPS = (
    Group(
        "allocation",
        "ALLOCATION (GAR, SOR)",
        {
            "gar_mean": ("GAR, mean over time", "share"),
            "gar_median": ("GAR, median over time", "share"),
            "sor_reserved": ("SOR, reserved of all GPU time", "share"),
            "sor_running": ("SOR, running of healthy GPU time", "share"),
        },
        (
            "GAR(t) = GPUs bound to pods / GPUs of healthy nodes",
            "SOR reserved = sum of GPUs x time from bind to release / (GPUs of all nodes x time)",
            "SOR running = sum of GPUs x time working / (GPUs of healthy nodes x time)",
            KANT,
        ),
    ),
    Group(
        "fragmentation",
        "FRAGMENTATION (GFR)",
        {
            "gfr_mean": ("GFR, mean over time", "share"),
            "gfr_median": ("GFR, median over time", "share"),
            "stranded_mean": ("stranded, mean over time", "milli-GPU"),
            "largest_gang_mean": ("largest gang that fits, mean over time", "milli-GPU"),
            "largest_gang_min": ("largest gang that fits, least at any time", "milli-GPU"),
        },
        (
            "GFR(t) = nodes with some GPUs bound and some free / healthy nodes with GPUs",
            "stranded(t) = free GPUs of these nodes",
            "largest gang(t) = GPUs of the nodes that are wholly free, as far as a gang can use "
            "them",
            KANT,
        ),
    ),
    Group(
        "gpu-time",
        "WHERE THE GPU TIME WENT",
        {
            "capacity_time": ("all nodes", "milli-GPU x ms"),
            **{f"{part}_share": (text, "share") for part, text in _PARTS.items()},
            **{f"{part}_time": (text, "milli-GPU x ms") for part, text in _PARTS.items()},
        },
        (
            "all nodes = running + restarts + failed nodes + quotas + topology + fragmentation + "
            "waiting + no demand, in integers, GPUs x time each",
            "failed nodes: GPUs of those, and free ones of nodes that take no pods (cordoned, not "
            "ready); restarts: bound to pods that do not work yet; quotas, topology, "
            "fragmentation: free, and wanted by a job that only this keeps from starting; waiting: "
            "wanted by a job that fits and is held back, or that is larger than all that is free",
        ),
    ),
    Group(
        "waiting",
        "WAITING TIME (JWTD), by size in GPUs",
        {
            "wait_jobs": ("jobs", "jobs"),
            "wait_censored": ("not started", "jobs"),
            "wait_mean": ("mean", "ms"),
            "wait_p50": ("p50", "ms"),
            "wait_p90": ("p90", "ms"),
            "wait_p99": ("p99", "ms"),
            "wait_max": ("max", "ms"),
        },
        (
            "wait = first start - arrival, of jobs that arrive in the window",
            "jobs that have not started are censored at the end, or when they are told to leave: "
            "S(t) = product over t_i <= t of (1 - d_i / n_i) (Kaplan-Meier); pK = least t with "
            "S(t) <= 1 - K/100; mean = area under S; > where a larger value is possible",
            KANT,
        ),
        by="size",
    ),
    _closeness("node", "nodes", "nodes on which a job was last"),
    _closeness(
        "group",
        "topology groups",
        "domains of the finest topology level in which a job was last",
    ),
    Group(
        "slowdown",
        "BOUNDED SLOWDOWN, by size in GPUs",
        {
            "slowdown_jobs": ("jobs", "jobs"),
            "slowdown_unfinished": ("not done", "jobs"),
            "slowdown_mean": ("mean", "ratio"),
            "slowdown_p50": ("p50", "ratio"),
            "slowdown_p90": ("p90", "ratio"),
            "slowdown_p99": ("p99", "ratio"),
            "slowdown_max": ("max", "ratio"),
        },
        (
            "slowdown = max(1, (end - arrival) / max(duration, 10 s)), of jobs that are done, not "
            "of those told to leave before (Feitelson and Rudolph 1998)",
        ),
        by="size",
    ),
    Group(
        "disturbance",
        "JOBS AND DISTURBANCE",
        {
            "jobs_arrived": ("jobs arrived", "jobs"),
            "jobs_started": ("jobs started", "jobs"),
            "jobs_finished": ("jobs done", "jobs"),
            "jobs_refused": ("jobs that never could start", "jobs"),
            "jobs_backfilled": ("jobs backfilled at their last start", "jobs"),
            "evictions": ("evictions", "evictions"),
            "failures": ("stopped by failed nodes", "failures"),
            "moved_pods": ("pods moved", "pods"),
            "lost_time": ("GPU time lost by them", "milli-GPU x ms"),
        },
        (
            "jobs that arrive in the window; a job is evicted, or stopped by a node that fails, "
            "once for each time; GPU time lost = work to be done again + restarts",
        ),
    ),
    Group(
        "plans",
        "PLANS",
        {
            "plans_made": ("plans made", "plans"),
            "plans_proved": ("proved optimal", "share"),
        },
        (
            "plans: of cycles of the planner and rounds of defragmentation in the window; proved: "
            "no plan is better by the objectives of its model",
        ),
    ),
    Group(
        "owners",
        "FAIR SHARES, by {owner}",
        {
            "share_used": ("used", "share"),
            "share_entitled": ("entitled", "share"),
            "shortfall_mean": ("short of GPUs, mean", "milli-GPU"),
            "shortfall_max": ("short of GPUs, most", "milli-GPU"),
        },
        (
            "entitlement(t) = min(demand(t), weight / sum of weights of owners with demand x "
            "GPUs(t)); demand: GPUs of jobs that have arrived and are not done; GPUs: of healthy "
            "nodes, less those of jobs that ran before the trace",
            "shortfall(t) = max(0, entitlement(t) - GPUs bound); used, entitled = GPU time over "
            "that of all nodes",
        ),
        by="owner",
    ),
)
