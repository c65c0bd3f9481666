"""Which topology a node is in, of several that a cluster has: its partition's, else the default.

Levels are numbered from the finest, so that nodes of a tree and nodes of blocks have their domains
on the same ones; the default topology names them. A name of a domain of another topology begins
with that of its topology: both may have a switch s1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kantopt.formats.slurm.gather import Records
from kantopt.formats.slurm.names import LEVEL
from kantopt.formats.slurm.partitions import Partitions
from kantopt.formats.slurm.records import Record
from kantopt.formats.slurm.topology import PARTS, Levels
from kantopt.schema.snapshot import Node, Topology, TopologyLevel


class Topologies:
    """The levels of a cluster and the labels of its nodes.

    Parameters
    ----------
    records
        Those of the input: a head for each topology that has a name, and :data:`PARTS`. Without
        any head there is one topology. Nodes that are in several are noted.
    partitions
        Which of them names which topology.
    """

    def __init__(self, records: Records, partitions: Partitions) -> None:
        self._partitions, self._notes = partitions, records.notes
        heads = records.of("TopologyName")
        named = [record.name for record in heads] or [""]
        chosen = (record.name for record in heads if record.text("Default"))
        self._default = next(chosen, named[0])
        of: dict[str, list[Record]] = {}
        for part in records.of(*PARTS):
            of.setdefault(part.text("Topology"), []).append(part)
        of.setdefault(self._default, of.get("", []))  # what scontrol shows is the default
        self._levels = {name: Levels(of.get(name, [])) for name in named}
        finest_first = self._levels[self._default].names
        if not finest_first:
            finest_first = max((each.names for each in self._levels.values()), key=len)
        self._names = finest_first

    @property
    def topology(self) -> Topology:
        """The levels, coarse to fine."""
        levels = [TopologyLevel(name=n, node_label=f"{LEVEL}{n}") for n in reversed(self._names)]
        return Topology(levels=tuple(levels))

    def onto(self, node: Node) -> Node:
        """Return a node with the labels of its domains."""
        name = self._of(node.name)
        own = self._levels[name]
        domains = own.of(node.name)
        if own.names != self._names or name != self._default:
            domains = dict(self._as_levels(name, own.names, domains))
        if not domains:
            return node
        labels = {f"{LEVEL}{level}": domain for level, domain in domains.items()}
        return node.model_copy(update={"labels": dict(sorted({**node.labels, **labels}.items()))})

    def _as_levels(
        self, topology: str, own: Sequence[str], domains: Mapping[str, str]
    ) -> Iterator[tuple[str, str]]:
        """Yield the domains of another topology than the one that names the levels.

        Above its coarsest level, and where it is flat, all that is in one domain stays in one.
        """
        last = "flat"
        for height, level in enumerate(self._names):
            if height < len(own):
                last = domains.get(own[height], last)
            yield level, f"{topology}/{last}"

    def _of(self, host: str) -> str:
        """Name the topology of a node: of several that have it the default, else the first."""
        if len(self._levels) == 1:
            return self._default
        records = (self._partitions.by_name.get(name) for name in self._partitions.of(host))
        told = {record.text("Topology") or self._default for record in records if record}
        known = sorted(told & {*self._levels}) or [self._default]
        having = [name for name in known if self._levels[name].of(host)]
        if len(having) > 1:
            text = "nodes whose partitions have several topologies are in one of these"
            self._notes.add(text, host)
        found = having or known
        return self._default if self._default in found else found[0]
