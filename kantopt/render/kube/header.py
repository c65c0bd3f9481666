"""What a script says of itself before it does anything: what it will do, and what it cannot."""

from __future__ import annotations

from kantopt.render.kube.cordons import cordons
from kantopt.render.kube.fates import Fates
from kantopt.render.kube.gates import OURS, bypassed
from kantopt.render.kube.requests import Request
from kantopt.render.kube.steering import steering_lines
from kantopt.render.kube.victims import taken_lines
from kantopt.schema.actions import in_waves
from kantopt.schema.plan import Binding, Eviction, Move, Plan


def header_lines(plan: Plan, fates: Fates, requests: list[Request]) -> list[str]:
    """Return the lines that a script begins with, and prints when it runs."""
    snapshot = plan.metadata.snapshot
    known = snapshot.cluster_uid
    lines = [
        f"Plan {plan.metadata.plan_id} for the snapshot of {snapshot.captured_at or 'no date'}",
        f"Only for the cluster whose namespace kube-system has the uid {known}."
        if known
        else "Does NOT CHECK which cluster this is, only that the nodes it names are those of the "
        "plan: `namespaces` were not in the input, so that the uid of kube-system is not known.",
        f"Does {_done(fates)}.",
        *taken_lines(fates),
    ]
    left = sum(fates.count(kind, "advise", "watch") for kind in (Binding, Eviction, Move))
    watched = fates.count(Binding, "watch")
    if left:
        waits = f"; it waits until {watched} of them are done" if watched else ""
        lines.append(
            f"Leaves {_count(left, 'pod')} to you: it sends nothing for them, for the reason that "
            f"stands with each{waits}."
        )
    notes = (r for r in requests if r["verb"] == "note" and fates[r["action"]].does != "do")
    lines += [f"- wave {r['wave']}, {r['action']}: {r['message']}" for r in notes]
    lines += _gates(plan, fates)
    closed = {n for c in cordons(plan, fates).values() for n in (*c.meanwhile, *c.longer)}
    if closed:
        lines.append(
            f"Cordons for a while, and opens again at the end and on failure: {_some(closed)}, "
            "unless somebody else has cordoned them."
        )
    lines += steering_lines(plan, fates)
    return lines


def _done(fates: Fates) -> str:
    """Count what it does, as far as it does anything."""
    counts = ((Eviction, "eviction"), (Move, "restart"), (Binding, "binding"))
    found = ((fates.count(kind, "do"), word) for kind, word in counts)
    return ", ".join(_count(n, word) for n, word in found if n) or "nothing by itself"


def _gates(plan: Plan, fates: Fates) -> list[str]:
    """Say which gates are removed, above all those of quota systems."""
    removed = {
        gate
        for _, item in in_waves(plan)
        if isinstance(item, Binding) and fates[item.id].does == "do"
        for pod in item.pods
        for gate in pod.scheduling_gates
    }
    lines = []
    for gate in sorted(removed):
        system = bypassed(gate)
        if system:
            lines.append(f"REMOVES the gate {gate}, as named: {system}'s quotas are BYPASSED.")
        else:
            lines.append(f"Removes the gate {gate}{'' if gate == OURS else ', as named'}.")
    return lines


def _some(names: set[str]) -> str:
    """Name a few."""
    return ", ".join(sorted(names)[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"
