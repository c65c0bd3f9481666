"""How close the pods of a job are to be, by the levels that the cluster has."""

from __future__ import annotations

from typing import Any

from kantopt.formats.kubernetes.demands import BEYOND, Wish
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.kubernetes.topology import SINGLE_NODES, Levels, with_nodes
from kantopt.formats.notes import Notes
from kantopt.schema.hints import plural
from kantopt.schema.jobs import TopologyRequest


class Closeness:
    """Turns wishes into topology requests.

    A level of single nodes is added once somebody asks for it.
    """

    def __init__(self, levels: Levels, notes: Notes) -> None:
        self.levels = levels
        self._notes = notes

    def goes_beyond(self, wish: Wish) -> bool:
        """Whether more is required than a topology request of these levels says."""
        needed = (wish.get(name) for name in ("required", "pod_set_slice_required_topology"))
        named = [str(level) for level in needed if level and level not in SINGLE_NODES]
        return BEYOND in wish or any(self.levels.name(level) is None for level in named)

    def request(self, wish: Wish, count: int, first: Pod) -> TopologyRequest | None:
        """Make a topology request of the levels that the cluster has."""
        fields: dict[str, Any] = {}
        for field, value in wish.items():
            if field in ("pod_set_slice_size", BEYOND):
                continue
            level = self.known(str(value), first)
            if level is not None:
                fields[field] = level
        size = int(wish.get("pod_set_slice_size", 1))
        if "pod_set_slice_required_topology" in fields:
            if count % size:
                text = "slices that do not divide their pods are left out"
                pods = plural(count, "pod")
                self._notes.add(text, f"{pods} in slices of {size}, {first.full_name}")
                del fields["pod_set_slice_required_topology"]
            else:
                fields["pod_set_slice_size"] = size
        return TopologyRequest(**fields) if fields else None

    def known(self, wanted: str, first: Pod) -> str | None:
        """Return the name of a level that a job asks for; one that is not there is noted."""
        if wanted in SINGLE_NODES:
            self.levels = with_nodes(self.levels, wanted)
        level = self.levels.name(wanted)
        if level is None:
            text = (
                "levels that jobs ask for and the topology lacks are left out "
                "(--topology LABEL makes a level of a node label)"
            )
            self._notes.add(text, f"{wanted} of {first.full_name}")
        return level
