"""R8 and R9 while waves run: who may be in a domain when a pod arrives there?"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping

from kantopt.problem.actions import Action
from kantopt.problem.instance import Instance
from kantopt.problem.job import AntiAffinity, Spread
from kantopt.schema.model import Rule
from kantopt.verify.rules.spread import spread_counts
from kantopt.verify.step import Violation, by_label
from kantopt.verify.waves.most import Ledger, Share, Sum
from kantopt.verify.waves.order import Order
from kantopt.verify.waves.rooms import restarts

_Arrival = tuple[int, bool]
"""A wave, and whether pods come with its restarts, when these have all left, or as it starts."""


def judge_neighbours(instance: Instance, order: Order) -> Iterator[Violation]:
    """Judge anti-affinity and spread wherever pods arrive, stop-overs included."""
    if instance.on(Rule.ANTI_AFFINITY):
        sides: dict[tuple[tuple[int, ...], str], _Side] = {}

        def side(podsets: tuple[int, ...], key: str) -> _Side:
            if (podsets, key) not in sides:
                sides[podsets, key] = _Side(instance, order, podsets, key)
            return sides[podsets, key]

        for term in instance.anti_affinities:
            apart = side((term.owner,), term.key), side(term.others, term.key)
            yield from _judge_term(instance, order, term, *apart)
    if instance.on(Rule.SPREAD):
        known: dict[Hashable, _Counts] = {}
        for spread in instance.spreads:
            if spread.owner in order.acts:
                alike = spread.key, spread.counted, spread.over
                if alike not in known:
                    known[alike] = _Counts(instance, order, spread)
                yield from _judge_spread(instance, order, spread, known[alike])


def _domains_of(instance: Instance, action: Action, key: str) -> tuple[str | None, str | None]:
    """Domain that an action's pods leave, and the one they arrive in."""
    source = None if action.source is None else instance.label_domain(action.source.node, key)
    target = None if action.target is None else instance.label_domain(action.target.node, key)
    return source, target


class _Side:
    """Pods of some pod sets by domain; each of a thousand terms may look at the same ones."""

    def __init__(self, instance: Instance, order: Order, podsets: Iterable[int], key: str) -> None:
        self.arriving: dict[str, set[_Arrival]] = {}
        """By domain, with which waves pods arrive."""
        shares = Ledger[str]()
        base = by_label(instance, instance.current, podsets, key)
        for s in podsets:
            for p, action in order.acts.get(s, ()):
                source, target = _domains_of(instance, action, key)
                restart = restarts(instance, action)
                if target is not None:
                    self.arriving.setdefault(target, set()).add((p, restart))
                if source == target:  # one that moves within a domain is one pod all the time
                    continue
                for domain, pods in ((source, -action.pods), (target, action.pods)):
                    if domain is not None:
                        shares.change(domain, p, pods, restart=restart)
        self.sums = {
            domain: Sum(order, shares.get(domain, {}), base.get(domain, 0))
            for domain in base.keys() | shares.keys()
        }

    def largest(self, domain: str, p: int, *, back: bool) -> int:
        """Return how many pods a domain has at most once a wave has started, or its restarts come.

        All of these have left before any is back.
        """
        side = self.sums[domain]
        share = side.shares.get(p, Share())
        return side.most_while(p, -1, share.start + share.back if back else share.start)


def _judge_term(
    instance: Instance, order: Order, term: AntiAffinity, owners: _Side, others: _Side
) -> Iterator[Violation]:
    """No pod arrives in a domain where one that it must be kept apart from may still be.

    What other waves do beside puts both sides at their most, each by itself.
    """
    allowed = 1 if term.owner in term.others else 0
    subject = instance.subject(term.owner)
    arriving = {
        (p, domain, back)
        for domain in owners.sums.keys() & others.sums.keys()
        for p, back in owners.arriving.get(domain, set()) | others.arriving.get(domain, set())
    }
    for p, domain, back in sorted(arriving):
        beside = others.largest(domain, p, back=back)
        if beside > allowed and owners.largest(domain, p, back=back):
            yield Violation(
                Rule.ANTI_AFFINITY,
                f"wave {order.waves[p].id}: {subject}",
                f"{beside} of {allowed} pods it keeps away from in {term.key} {domain}",
            )


class _Counts:
    """Pods that spread constraints count alike: each of a thousand may have one of its own."""

    def __init__(self, instance: Instance, order: Order, spread: Spread) -> None:
        self.base = spread_counts(instance, instance.current, spread)
        """Pods of each domain before any wave."""
        self.changes: dict[str, dict[int, int]] = {}
        """By domain, what each wave changes."""
        for s in spread.counted:
            for p, action in order.acts.get(s, ()):
                for place, pods in ((action.source, -action.pods), (action.target, action.pods)):
                    domain = None if place is None else _counted(instance, spread, place.node)
                    if domain is not None:
                        at = self.changes.setdefault(domain, {})
                        at[p] = at.get(p, 0) + pods
        fewest = (self.base[d] + _sum(self.changes.get(d, {}), -1) for d in self.base)
        self.fewest = min(fewest, default=0)
        """Pods that the emptiest domain has at least, in any state."""

    def most(self, domain: str) -> int:
        """Return how many pods a domain has at most, in any state."""
        return self.base[domain] + _sum(self.changes.get(domain, {}), 1)


def _sum(changes: Mapping[int, int], sign: int) -> int:
    """Add up the changes that have a sign."""
    return sum(pods for pods in changes.values() if pods * sign > 0)


def _judge_spread(
    instance: Instance, order: Order, spread: Spread, counts: _Counts
) -> Iterator[Violation]:
    """Where pods arrive, their domain exceeds the emptiest by at most maxSkew after each wave.

    A wave counts as one step: of pods that arrive together none is there first.
    """
    subject = instance.subject(spread.owner)
    base, changes = counts.base, counts.changes
    least = [min((k for d, k in base.items() if d not in changes), default=None)]
    if not base or len(base) < spread.min_domains:
        least, rivals, floor = [0], [], 0
    else:
        rivals, floor = sorted(changes), counts.fewest
    arrivals = _arrivals(instance, order, spread)
    for p, domain in sorted(arrivals, key=lambda arrival: (arrival[0], arrival[1] or "")):
        wave = f"wave {order.waves[p].id}: {subject}"
        if domain is None:
            yield Violation(Rule.SPREAD, wave, f"a node without label {spread.key}")
            continue
        if domain not in base or counts.most(domain) - floor <= spread.max_skew:
            continue
        own = changes.get(domain, {})
        skews = [_skew(spread, order, p, own, {}, base[domain] - k) for k in least if k is not None]
        skews += [
            _skew(spread, order, p, own, changes[rival], base[domain] - base[rival])
            for rival in rivals
            if rival != domain
        ]
        skew = max(skews, default=0)
        if skew > spread.max_skew:
            yield Violation(
                Rule.SPREAD, wave, f"skew {skew} of {spread.max_skew} in {spread.key}={domain}"
            )


def _counted(instance: Instance, spread: Spread, n: int) -> str | None:
    """Domain in which a node's pods count; ``None`` if they do not."""
    if n not in spread.over:
        return None
    return instance.label_domain(n, spread.key)


def _arrivals(instance: Instance, order: Order, spread: Spread) -> set[tuple[int, str | None]]:
    """Waves and domains in which pods of the owner arrive; ``None`` for a node without the label.

    A label may be empty: that is a domain, too.
    """
    return {
        (p, instance.label_domain(action.target.node, spread.key))
        for p, action in order.acts[spread.owner]
        if action.target is not None
    }


def _skew(
    spread: Spread,
    order: Order,
    p: int,
    own: dict[int, int],
    rival: dict[int, int],
    standing: int,
) -> int:
    """Return the most by which one domain may exceed another once wave ``p`` is done.

    Up to what is allowed, something above it will do.
    """
    shares = {
        q: Share(done=own.get(q, 0) - rival.get(q, 0)) for q in {p, *own.keys(), *rival.keys()}
    }
    return Sum(order, shares, standing).most_while(p, spread.max_skew, shares[p].done)
