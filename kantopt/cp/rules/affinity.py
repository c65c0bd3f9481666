"""R16 pod affinity (required form)."""

from __future__ import annotations

from dataclasses import dataclass, field

from ortools.sat.python.cp_model import IntVar

from kantopt.cp.variables import Terms, Variables, weighted

Domain = tuple[str, str]
"""A node label and a value of it."""


@dataclass(slots=True)
class _Group:
    """Pod sets that ask to be near the same pods.

    One that comes has a pod to be near already: to others of its group it adds nothing.
    """

    keys: tuple[str, ...]
    anchors: tuple[int, ...]
    founders: list[int] = field(default_factory=list)
    """Owners of which one pod may be the first."""
    owners: list[int] = field(default_factory=list)
    near: dict[Domain, IntVar] = field(default_factory=dict)
    """Whether a domain has a pod to be near before those of the group come."""
    rank: dict[Domain, IntVar] = field(default_factory=dict)
    """How long a domain waits for that; only where groups wait for each other."""

    def domains(self, m: Variables, n: int) -> list[Domain]:
        """Domains that a node is in; fewer than keys if labels are missing."""
        labels = ((key, m.instance.label_domain(n, key)) for key in self.keys)
        return [(key, value) for key, value in labels if value is not None]


def add_affinity(m: Variables) -> None:
    """Pods arrive only where a pod that they ask to be near stays, or has come before them."""
    groups: dict[tuple[tuple[str, ...], tuple[int, ...]], _Group] = {}
    group_of: dict[int, _Group] = {}
    for near in m.instance.affinities:
        if m.arrive[near.owner]:
            key = near.keys, near.anchors
            group = groups.setdefault(key, _Group(near.keys, near.anchors))
            group.owners.append(near.owner)
            if near.founds:
                group.founders.append(near.owner)
            group_of[near.owner] = group
    for group in groups.values():
        circle = _circle(group, group_of)
        for i, near in enumerate(m.instance.affinities):
            if near.owner in group.owners:
                m.about("affinity", i)
                _add_arrivals(m, group, near.owner, len(groups) if circle else 0)
    for group in groups.values():
        owner = next(i for i, a in enumerate(m.instance.affinities) if a.owner in group.owners)
        m.about("affinity", owner)
        _add_group(m, group, group_of)


def _waits_for(group: _Group, group_of: dict[int, _Group]) -> list[_Group]:
    found = {id(other): other for s in group.anchors if (other := group_of.get(s))}
    return [other for other in found.values() if other is not group]


def _reaches(group: _Group, group_of: dict[int, _Group]) -> list[_Group]:
    """Groups that one waits for, also by way of others; itself if they wait in a circle."""
    found: dict[int, _Group] = {}
    todo = _waits_for(group, group_of)
    while todo:
        other = todo.pop()
        if id(other) not in found:
            found[id(other)] = other
            todo += _waits_for(other, group_of)
    return list(found.values())


def _circle(group: _Group, group_of: dict[int, _Group]) -> list[_Group]:
    """Groups that wait for a group and that it waits for."""
    return [
        other
        for other in _reaches(group, group_of)
        if other is not group and any(group is back for back in _reaches(other, group_of))
    ]


def _add_arrivals(m: Variables, group: _Group, s: int, longest: int) -> None:
    """Pods come only to nodes all of whose domains have a pod to be near."""
    for n, var in m.arrive[s].items():
        domains = group.domains(m, n)
        if len(domains) < len(group.keys):
            m.cp.add(var == 0)
            continue
        for domain in domains:
            if domain not in group.near:
                group.near[domain] = m.cp.new_bool_var(f"near[{s},{domain}]")
                if longest:
                    group.rank[domain] = m.cp.new_int_var(0, longest, f"rank[{s},{domain}]")
            m.cp.add(var <= m.instance.podsets[s].count * group.near[domain])


def _add_group(m: Variables, group: _Group, group_of: dict[int, _Group]) -> None:
    """There is a pod to be near if one stays, or another group's has come, or one is the first."""
    circle = _circle(group, group_of)
    there: dict[Domain, Terms] = {domain: [] for domain in group.near}
    for s in group.anchors:
        for spot, var in m.stay[s].items():
            for domain in group.domains(m, spot.node):
                there.get(domain, []).append((var, 1))
        other = group_of.get(s)
        if other is group:
            continue
        for n, var in m.arrive[s].items():
            for domain in group.domains(m, n):
                if domain not in there:
                    continue
                if any(other is one for one in circle):
                    assert other is not None, "a circle is of groups"
                    var = _earlier(m, group, domain, other, s, n)
                there[domain].append((var, 1))
    if group.founders:
        for domain, var in _add_first(m, group).items():
            there.get(domain, []).append((var, 1))
    for domain, terms in there.items():
        m.cp.add(weighted(terms) >= group.near[domain])


def _earlier(m: Variables, group: _Group, domain: Domain, other: _Group, s: int, n: int) -> IntVar:
    """Whether a pod of another group comes, and that without waiting for this one."""
    answer = m.cp.new_bool_var(f"earlier[{domain},{s},{n}]")
    m.cp.add(m.arrive[s][n] >= answer)
    for theirs in other.domains(m, n):
        m.cp.add(group.rank[domain] >= other.rank[theirs] + 1).only_enforce_if(answer)
    return answer


def _add_first(m: Variables, group: _Group) -> dict[Domain, IntVar]:
    """Whether one of a group's pods is the first in a domain.

    Then none stays, one moves at most, or one job that restarts as a whole, and all that come go to
    one domain of each key.
    """
    first = m.cp.new_bool_var(f"first[{group.owners[0]}]")
    founded: dict[Domain, IntVar] = {}
    members: dict[Domain, Terms] = {}
    moving: Terms = []
    whole: dict[int, Terms] = {}
    for s in group.anchors:
        podset = m.instance.podsets[s]
        for spot, var in m.stay[s].items():
            if group.domains(m, spot.node):
                m.cp.add(var == 0).only_enforce_if(first)
        for n, var in m.arrive[s].items():
            domains = group.domains(m, n)
            if podset.running:
                job = m.instance.job_of(s)
                if job.move_mode == "live":
                    m.cp.add(var == 0).only_enforce_if(first)
                terms = moving
                if job.index in m.instance.together:
                    terms = whole.setdefault(job.index, [])
                terms.append((var, 1))
            if 0 < len(domains) < len(group.keys):
                m.cp.add(var == 0).only_enforce_if(first)
                continue
            for domain in domains:
                if domain not in founded:
                    founded[domain] = m.cp.new_bool_var(f"first[{group.owners[0]},{domain}]")
                m.cp.add(var <= podset.count * founded[domain]).only_enforce_if(first)
                if s in group.founders:
                    members.setdefault(domain, []).append((var, 1))
    for j, terms in whole.items():
        most = m.instance.running_pods(j)
        moving.append((m.positive(("restarts", j, *group.anchors), weighted(terms), most), 1))
    if moving:
        m.cp.add(weighted(moving) <= 1).only_enforce_if(first)
    for domain, here in founded.items():
        m.cp.add(weighted(members.get(domain, [])) >= here)
    for key in group.keys:
        chosen: Terms = [(var, 1) for (k, _), var in founded.items() if k == key]
        m.cp.add(weighted([*chosen, (first, -1)]) <= 0)
    return founded
