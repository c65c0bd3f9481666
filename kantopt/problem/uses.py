"""What pods use of a node alone, or beside others that share it: ports as amounts of a resource."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kantopt.schema.jobs import Job, PodSet

_PORT = "host port "


def is_thing(resource: str) -> bool:
    """Whether a resource of a question is none that documents name.

    It stands for a thing that pods use, like a host port, or for a resource on some nodes only, of
    which there is a quota.
    """
    return is_port(resource) or " [" in resource


def is_port(resource: str) -> bool:
    """Whether a resource of a question stands for a host port."""
    return resource.startswith(_PORT)


@dataclass(frozen=True, slots=True)
class _Use:
    """A use of some thing; of those who share it, one at a time has a ``share``'s name."""

    thing: str
    share: str | None
    """``None``: alone."""


def _uses(podset: PodSet) -> frozenset[_Use]:
    """List what each pod of a pod set uses of its node, each use once."""
    found = set()
    for port in podset.host_ports:
        name = f"{_PORT}{port.protocol}/{port.host_port}"
        found.add(_Use(name, None if port.everywhere else port.host_ip))
        if not port.everywhere:
            found.add(_Use(f"{name} of {port.host_ip}", None))
    return frozenset(found)


class NodeUses:
    """Things that pods use alone or share, as resources that every node has the same amount of.

    A thing has as many units as it has different shares. A share asks for one of them, and who
    uses the thing alone asks for all; so these two exclude each other, as do two who use it alone.
    Things that at most one pod uses, or that nobody asks for who could arrive, bind nobody and
    are left out.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        users: dict[str, int] = {}
        shares: dict[str, set[str]] = {}
        alone: set[str] = set()
        asked: set[str] = set()
        for job, podset in _users(jobs):
            running = podset.running
            movable = job.movable if podset.movable is None else podset.movable
            for use in _uses(podset):
                users[use.thing] = users.get(use.thing, 0) + podset.count
                if use.share is None:
                    alone.add(use.thing)
                else:
                    shares.setdefault(use.thing, set()).add(use.share)
                if podset.count > running or (movable and not job.daemon):
                    asked.add(use.thing)
        self.offer: dict[str, int] = {
            thing: max(1, len(shares.get(thing, ())))
            for thing in sorted(asked & alone)
            if users[thing] > 1
        }
        """Units of each thing that a node has."""

    def asks(self, podset: PodSet) -> dict[str, int]:
        """Units that each pod of a pod set takes of its node."""
        units: dict[str, int] = {}
        for use in _uses(podset) if podset.host_ports else ():
            if use.thing in self.offer:
                more = self.offer[use.thing] if use.share is None else 1
                units[use.thing] = min(self.offer[use.thing], units.get(use.thing, 0) + more)
        return units


def _users(jobs: Iterable[Job]) -> Iterator[tuple[Job, PodSet]]:
    for job in jobs:
        for podset in job.pod_sets:
            if podset.host_ports:
                yield job, podset
