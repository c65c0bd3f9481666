"""The histogram: why each node is out, in one line in kube-scheduler's words."""

from __future__ import annotations

from collections.abc import Collection

from kantopt.problem.instance import Instance
from kantopt.schema.answers.explanation import Exclusion, NodesOfPodSet
from kantopt.schema.quantity import decimal
from kantopt.search.explain.places import Places


def _free(places: Places) -> str:
    free = places.free
    if free is None:
        return ""
    total, offered, most = (
        decimal(free.resource, value) for value in (free.total, free.offered, free.most)
    )
    if not free.offered:
        return f"No node where it may go has any {free.resource}."
    return (
        f"{total} of {offered} {free.resource} are free where it may go, at most {most} on a node."
    )


def histogram(
    instance: Instance, places: Places, here: Collection[int] = frozenset()
) -> NodesOfPodSet:
    """Write down where the pods of a pod set could go; the counts add up to all nodes.

    ``here``: nodes where they are, which are available to them if they were not there.
    """
    total = len(instance.nodes)
    available = len(places.available)
    own = len(set(here).intersection(places.available))
    where = ", where it is" if own == available else f", it is on {own} of them"
    parts = [f"{len(reason.nodes)} {reason.text}" for reason in places.reasons]
    room = ""
    if available and places.wanted > 1:
        room = f", with room for {min(places.room, places.wanted)} of {places.wanted} pods"
    reasons = f": {', '.join(parts)}." if parts else "."
    return NodesOfPodSet(
        pod_set=instance.podsets[places.podset].name,
        wanted=places.wanted,
        nodes=total,
        available=available,
        room=places.room,
        free=_free(places),
        message=f"{available}/{total} nodes are available{where if own else ''}{room}{reasons}",
        exclusions=tuple(
            Exclusion(
                reason=reason.text,
                rule=reason.rule.value,
                count=len(reason.nodes),
                nodes=tuple(instance.nodes[n].name for n in reason.nodes),
            )
            for reason in places.reasons
        ),
    )
