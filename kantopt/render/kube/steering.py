"""What comes back of an evicted pod, and what can be steered of it, by the kind of its owner."""

from __future__ import annotations

from kantopt.render.kube.fates import Fates, controller
from kantopt.render.shell import one_line
from kantopt.schema.answers.plan import Eviction, Move, Plan
from kantopt.schema.by_kueue import by_kueue

STEERING: dict[str, tuple[str, str]] = {
    "ReplicaSet": (
        "a new pod under a new name at once, while the old one still holds its room",
        "the node it left is cordoned; a gate given at birth pins it, an edit of the template "
        "restarts all of its pods",
    ),
    "StatefulSet": (
        "the same name with a new uid, once the old pod is gone; one at a time if OrderedReady",
        "the node it left is cordoned; with OnDelete a node selector in the template holds for the "
        "pods that are evicted only",
    ),
    "Job": (
        "a new pod after 10 s or more; it counts against backoffLimit unless a podFailurePolicy "
        "ignores DisruptionTarget",
        "the node it left is cordoned; the template of a running Job cannot be changed",
    ),
    "DaemonSet": ("a new pod on the same node", "nothing: such pods are never evicted"),
    "": ("nothing: it is gone for good", "nothing: it is never restarted"),
}
"""By kind: what comes back, and what of that can be steered. Others are their Jobs' or sets'."""
OTHERS = (
    "what its controller makes: it may restart the whole group",
    "the node it left is cordoned",
)
_LATER = ("StatefulSet", "Job")
"""They make a pod anew only when the old one is gone, or a while after."""
KUEUE = (
    "a Workload of Kueue's keeps its quota while its pods are made anew; those that Kueue places "
    "by topology are sent where its own assignment has room, often the domain that they came "
    "from: stop the Workload instead (--to kueue)"
)


def steering(kind: str) -> tuple[str, str]:
    """Say what comes back of a pod of an owner of some kind, and what of that can be steered."""
    return STEERING.get(kind, OTHERS)


def is_remade_at_once(kind: str) -> bool:
    """Whether an owner of some kind may have a new pod as soon as the old one is told to go."""
    return kind not in _LATER


def steering_lines(plan: Plan, fates: Fates) -> list[str]:
    """Say what becomes of the pods that a script takes away, a line for each kind of owner."""
    moves = list(fates.of(Move, "do"))
    taken: list[Eviction | Move] = [*fates.of(Eviction, "do"), *moves]
    moved = {controller(pod) for move in moves for pod in move.pods}
    lines = []
    for kind in sorted({controller(pod) for item in taken for pod in item.pods}):
        back, steered = steering(kind)
        of = f"of {one_line(kind)}" if kind else "without a controller"
        line = f"What comes back of a pod {of}: {back}."
        lines.append(f"{line} Steered: {steered}." if kind in moved else line)
    if moves:
        lines.append(
            "Where a restarted pod starts is the scheduler's choice: the script looks where it is, "
            "and stops if that is not where the plan has it."
        )
    named = {item.job for item in taken}
    # Queues of other systems send nobody back.
    if any(by_kueue(job) for job in plan.jobs if job.full_name in named):
        lines.append(f"Queues: {KUEUE}.")
    return lines
