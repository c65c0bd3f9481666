"""Remedies that give more: nodes, quota."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kantopt.planning.explain.quoting import quoted
from kantopt.planning.explain.remedies.fewest import Change, Scale, fewest
from kantopt.planning.explain.remedies.workshop import Ranked, Workshop
from kantopt.schema.hints import plural
from kantopt.schema.model import Rule
from kantopt.schema.pools import pool_of
from kantopt.schema.quantity import from_base
from kantopt.search.explain.node_types import node_types
from kantopt.verify.rules.quota import cohorts, overdraft, queue_limit
from kantopt.verify.step import Loads

_MOST_NODES = 64
"""Nodes more that are tried at most."""


def raise_quota(w: Workshop) -> Iterator[Ranked]:
    """Raise the queue's quota, or that of the queue above it, by exactly what is missing."""
    asked, queue = w.asked, w.job.queue
    if queue is None or not asked.on(Rule.QUOTA):
        return
    owner = asked.queues[queue]
    usage = Loads.of(asked, asked.current).queue
    edits: list[str] = []
    by_queue: dict[str, list[str]] = {}
    for quota in owner.quotas:
        r, name = quota.resource, asked.resources[quota.resource]
        more = sum(pods * asked.podsets[s].demand[r] for s, pods in w.wanted.items())
        limit = queue_limit(owner, quota)
        missing = 0 if limit is None else usage[queue][r] + more - limit
        own, lent, whole = quota.nominal + quota.held, 0, 0
        if owner.cohort:
            members = cohorts(asked)[owner.cohort, r]
            after = [[*row] for row in usage]
            after[queue][r] += more
            lent = overdraft(members, after, queue)
            whole = sum(each.nominal + each.held for _, each in members)
        documents = w.question.snapshot.queues
        pool = pool_of(documents, documents[queue], name)
        if pool is None:
            raised = [(owner.name, own, max(missing, lent))]
        else:
            raised = [(owner.name, (limit or 0) + quota.held, missing), (pool.name, whole, lent)]
        for who, now, lacks in raised:
            if more and lacks > 0:
                value = from_base(name, now + lacks)
                edits.append(f"quota={quoted(who)}:{quoted(name)}={value}")
                part = f"{name} from {from_base(name, now)} to {value}"
                by_queue.setdefault(who, []).append(part)
    if not edits:
        return
    parts = (f"the quota of queue {who}: {', '.join(told)}" for who, told in by_queue.items())
    text = f"raise {', and '.join(parts)}"
    yield from w.either("raise-quota", text, f"{plural(len(edits), 'quota')} raised", tuple(edits))


def add_nodes(w: Workshop) -> Iterator[Ranked]:
    """As few nodes more of one kind as make room."""
    most = min(_MOST_NODES, max(1, sum(w.wanted.values())))

    def change(n: int, more: int) -> Change:
        name = w.asked.nodes[n].name
        text = f"add {plural(more, 'node')} like {name}{_where(w, n)}"
        edits = (f"add-nodes={quoted(name)}:{more}",)
        return Change(edits, text, f"{plural(more, 'node')} more")

    kinds = node_types(w.asked, w.j, w.wanted)
    scales = [Scale(partial(change, n), most, guess) for n, guess in kinds]
    yield from fewest(w, "add-nodes", scales)


def _where(w: Workshop, n: int) -> str:
    """Finest domain of a node that matters to the job."""
    topology = w.asked.topology
    levels = [
        need.required
        for need in w.asked.topology_needs
        if need.job == w.j and need.required is not None
    ]
    if not levels or topology.domain_of[levels[0]][n] is None:
        return ""
    domain = topology.domain_of[levels[0]][n]
    assert domain is not None
    return f" in {topology.levels[levels[0]]} {topology.domains[levels[0]][domain]}"
