"""Switches and blocks into topology levels: the leaf of a tree and what is above, blocks.

A node that hangs above the lowest switches
is, in the levels below, in a domain of its own switch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kantopt.errors import Problem
from kantopt.formats.slurm.records import Record

PARTS = ("SwitchName", "BlockName", "AggregatedBlock", "BlockSizes")
"""Kinds of records that a topology consists of."""
LEAF = "leaf"
"""Level of the switches that nodes hang on."""
BLOCK = "block"
"""Level of base blocks."""


class Levels:
    """The levels of a topology and the domains of its nodes."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._labels: dict[str, dict[str, str]] = {}
        self._names: list[str] = []
        """From fine to coarse."""
        switches = {r.name: r for r in records if r.kind == "SwitchName"}
        blocks = [r for r in records if r.kind == "BlockName"]
        wider = [r for r in records if r.kind == "AggregatedBlock"]
        if switches:
            self._tree(switches)
        elif blocks:
            sizes = next((r for r in records if r.kind == "BlockSizes"), None)
            self._blocks(blocks, sizes)
            if sizes is None:
                self._wider_blocks(blocks, wider)

    @property
    def names(self) -> Sequence[str]:
        """Names of the levels, fine to coarse."""
        return self._names

    def of(self, host: str) -> Mapping[str, str]:
        """Return the domain of a node by level; of levels that it is not in, none."""
        return self._labels.get(host, {})

    def _tree(self, switches: Mapping[str, Record]) -> None:
        children = {name: record.hosts("Switches") for name, record in switches.items()}
        parent = {child: name for name, below in children.items() for child in below}
        heights = heights_of(children)
        for name, record in switches.items():
            if _is_below_itself(name, children):
                record.problem("Switches", "switches of which none is above itself")
        top = max(heights.values())
        self._names = [LEAF, *(f"switch-{height}" for height in range(1, top + 1))]
        for name, record in switches.items():
            for child in children[name]:
                if child not in switches:
                    record.problem("Switches", f"switches that are there; {child} is not")
            if children[name]:
                continue  # what a switch lists of nodes below others is theirs
            path, switch = {0: name}, name
            while switch in parent and len(path) <= len(switches):
                switch = parent[switch]
                path[heights[switch]] = switch
            last, labels = name, {}
            for height, level in enumerate(self._names):
                last = path.get(height, last)
                labels[level] = last
            for host in record.hosts("Nodes"):
                self._labels[host] = labels

    def _blocks(self, blocks: Sequence[Record], sizes: Record | None) -> None:
        names = [record.name for record in blocks]
        planned = sizes.listed("BlockSizes") if sizes else ()
        counts = [int(item) for item in planned if item.isdecimal()]
        base = counts[0] if counts else 0
        wider = [count // base for count in counts[1:] if base and count % base == 0]
        self._names = [BLOCK, *(f"blocks-{count}" for count in wider)]
        for index, record in enumerate(blocks):
            labels = {BLOCK: names[index]}
            for count in wider:
                labels[f"blocks-{count}"] = names[index - index % count]
            for host in record.hosts("Nodes"):
                self._labels[host] = dict(labels)

    def _wider_blocks(self, blocks: Sequence[Record], wider: Sequence[Record]) -> None:
        """Add the blocks of blocks that ``scontrol show topology`` lists from 24.11 on."""
        base = min((record.number("BlockSize") for record in blocks), default=0)
        for size in sorted({record.number("BlockSize") for record in wider}):
            if not base or size % base:
                continue
            level = f"blocks-{size // base}"
            self._names.append(level)
            for record in wider:
                members = record.hosts("AggregatedBlock")  # named after its blocks
                if record.number("BlockSize") != size or not members:
                    continue
                for host in record.hosts("Nodes"):
                    self._labels.setdefault(host, {})[level] = members[0]


def yaml_records(items: Any, file: str, problems: list[Problem]) -> list[Record]:
    """Read the list of a topology.yaml: a head for each topology, and its parts, which name it."""
    found: list[Record] = []
    for item in items:
        name = str(item["topology"])
        default = "1" if item.get("cluster_default") is True else ""
        head = {"TopologyName": name, "Default": default}
        found.append(Record("TopologyName", head, file, problems))
        found += _yaml_parts(item, {"Topology": name}, file, problems)
    return found


def _yaml_parts(
    item: Mapping[str, Any], of: Mapping[str, str], file: str, problems: list[Problem]
) -> Iterator[Record]:
    for key, kind, rows in (("tree", "SwitchName", "switches"), ("block", "BlockName", "blocks")):
        part = item.get(key)
        if not isinstance(part, dict):
            continue
        sizes = part.get("block_sizes")
        if isinstance(sizes, list):
            text = ",".join(str(size) for size in sizes)
            yield Record("BlockSizes", {"BlockSizes": text, **of}, file, problems)
        listed = part.get(rows)
        for index, row in enumerate(listed if isinstance(listed, list) else ()):
            if not isinstance(row, dict):
                place = f"{key}.{rows}[{index}]"
                problems.append(Problem(file, place, repr(row), "a mapping"))
                continue
            fields = {kind: str(row.get("switch") or row.get("block") or "")}
            fields |= {"Nodes": str(row.get("nodes") or "")}
            fields |= {"Switches": str(row.get("children") or "")}
            yield Record(kind, {**fields, **of}, file, problems)


def _is_below_itself(name: str, children: Mapping[str, Sequence[str]]) -> bool:
    """Whether switches hang in a circle."""
    seen: set[str] = set()
    below = list(children[name])
    while below:
        switch = below.pop()
        if switch not in seen:
            seen.add(switch)
            below += children.get(switch, ())
    return name in seen


def heights_of(below: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return how high each stands above the lowest below it; a circle ends where it closes."""
    heights: dict[str, int] = {}

    def height(name: str, above: tuple[str, ...]) -> int:
        if name in above:
            return 0
        if name not in heights:
            known = [height(other, (*above, name)) + 1 for other in below.get(name, ())]
            heights[name] = max(known, default=0)
        return heights[name]

    for name in below:
        height(name, ())
    return heights
