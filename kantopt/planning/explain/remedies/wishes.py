"""Remedies that ask for less: closeness, pods, room, nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from kantopt.planning.explain.quoting import quoted
from kantopt.planning.explain.remedies.fewest import Change, Scale, fewest, needed
from kantopt.planning.explain.remedies.workshop import Ranked, Workshop
from kantopt.planning.explain.trial import Trial
from kantopt.planning.words import listed
from kantopt.problem.cluster import Taint
from kantopt.problem.derived.focus import wanted_pods
from kantopt.problem.job import TopologyNeed
from kantopt.schema.eligibility import AHEAD, is_ahead
from kantopt.schema.hints import plural
from kantopt.schema.model import Rule
from kantopt.schema.quantity import from_base
from kantopt.schema.snapshot import NODE_NAME
from kantopt.search.explain.counting import Counting, countable
from kantopt.search.explain.node_types import of_use
from kantopt.search.state import State

_MOST_NODES = 64
"""Cordoned nodes that are looked at one by one, at most."""


def relax_topology(w: Workshop) -> Iterator[Ranked]:
    """Ask for a coarser domain, or for none."""
    levels = w.asked.topology.levels
    for need in w.asked.topology_needs:
        if need.job != w.j or need.required is None or not w.asked.on(Rule.TOPOLOGY):
            continue
        if w.question.tied.get(w.job.name) and w.asked.topology.labels[need.required] == NODE_NAME:
            continue  # not wished for: elsewhere pods would wait for their claim
        name = levels[need.required]
        for level in (*reversed(levels[: need.required]), "none"):
            if w.deadline.over():
                return
            edit = f"{_prefix(w, need)}:required={quoted(level)}"
            text = f"require one {level} instead of one {name}"
            if level == "none":
                text = f"require no {name}"
            found = list(w.either("relax-topology", text, "pods farther apart", (edit,)))
            yield from found
            if found:
                break


def _prefix(w: Workshop, need: TopologyNeed) -> str:
    """Path of a need in a change: the job's own, or a pod set's."""
    document = w.question.documents(w.asked)[w.j]
    if document.topology_request is not None and len(need.roles) == len(w.job.roles):
        return f"set={quoted(w.job.name)}"
    return f"set={quoted(w.job.name)}:{quoted(w.job.roles[need.roles[0]].name)}"


def admit_nodes(w: Workshop) -> Iterator[Ranked]:
    """Let the pods onto nodes that are closed to them."""
    for reason in w.places[0].reasons:
        if reason.rule is not Rule.ELIGIBILITY or w.deadline.over():
            continue
        names = [w.asked.nodes[n].name for n in reason.nodes]
        if "unschedulable" in reason.text:
            names = _of_use(w, names)
            if 0 < len(names) <= _MOST_NODES:
                yield from _uncordoned(w, names)
            continue
        if "taint" in reason.text:
            taints = {taint for n in reason.nodes for taint in w.asked.nodes[n].taints}
            keys = sorted({taint.key for taint in taints})
            edits = tuple(f"set={quoted(w.job.name)}:tolerate={quoted(key)}" for key in keys)
            text = _tolerating(taints, plural(len(names), "node"))
        elif "affinity" in reason.text:
            edits = (f"set={quoted(w.job.name)}:nodeSelector=none",)
            text = f"ask for no node selector or affinity{_selected(w)}"
        else:
            continue
        yield from w.either("admit-nodes", text, "", edits)


def _tolerating(taints: Collection[Taint], nodes: str) -> str:
    """Words for what lets pods onto nodes in spite of their taints."""
    ahead = [taint for taint in taints if is_ahead(taint)]
    now = listed(sorted({taint.key for taint in taints if not is_ahead(taint)}))
    later = listed(sorted({taint.key for taint in ahead}))
    until = min((taint.value.removeprefix(AHEAD) for taint in ahead), default="")
    parts = (
        f"tolerate the taint {now} of {nodes}" * bool(now),
        f"end by {until} by a shorter limit, before {later} closes {nodes}" * bool(later),
    )
    return " and ".join(filter(None, parts))


def _selected(w: Workshop) -> str:
    """The node selector that a job asks for, for a remedy that drops it."""
    document = w.question.documents(w.asked)[w.j]
    pairs = {f"{k}={v}" for podset in document.pod_sets for k, v in podset.node_selector.items()}
    return f" ({listed(sorted(pairs))})" if pairs else ""


def _uncordon(name: str) -> str:
    return f"uncordon={quoted(name)}"


def _of_use(w: Workshop, names: list[str]) -> list[str]:
    """Leave out nodes that no pod of the job could ever use, were they open and empty."""
    opened, j = w.trials.changed(*map(_uncordon, names))
    useful = {opened.nodes[n].name for n in of_use(opened, wanted_pods(opened, j))}
    return [name for name in names if name in useful]


def _uncordoned(w: Workshop, names: list[str]) -> Iterator[Ranked]:
    """Uncordon nodes: all, or the fewest; later still fewer, with moves and evictions."""
    found = list(w.either("admit-nodes", *_opening(names, perhaps=len(names) > 1)))
    if not found or len(names) == 1:
        yield from found
        return
    fewest = _fewest_uncordoned(w, names)
    told = list(w.either("admit-nodes", *_opening(fewest))) if fewest else found
    yield from told
    instead = None if fewest else told[0].remedy.edit
    w.ask_later(partial(_fewer_uncordoned, w, fewest or names, instead))


def _opening(names: Sequence[str], *, perhaps: bool = False) -> tuple[str, str, tuple[str, ...]]:
    """Words, cost and changes that uncordon nodes; ``perhaps`` fewer of them do."""
    text = f"uncordon {listed(names)}" + "; perhaps fewer of them do" * perhaps
    return text, "", tuple(map(_uncordon, names))


def _fewest_uncordoned(w: Workshop, names: list[str]) -> list[str]:
    """Leave out nodes one by one for as long as the job fits without them as it stands."""
    trial = w.trials.now(*map(_uncordon, names))
    if trial.decision.placement is None:
        return []
    counting = Counting(trial.asked, trial.j) if countable(trial.asked, trial.j) else None
    index = {node.name: node.index for node in trial.asked.nodes}

    def enough(some: Sequence[str]) -> bool:
        if counting is None:
            return w.trials.now(*map(_uncordon, some)).decision.placement is not None
        closed = [index[name] for name in names if name not in some]
        return counting.fits(closed=closed)

    kept = needed(w, names, enough)
    return [] if w.deadline.over() else kept


def _fewer_uncordoned(w: Workshop, names: list[str], instead: str | None) -> Iterator[Ranked]:
    """Leave out nodes one by one for as long as the job fits without them, others moved or evicted.

    ``instead`` of which remedy the fewest are told, if of one.
    """

    def trial(some: Sequence[str]) -> Trial:
        return w.trials.disturbing(*map(_uncordon, some))

    kept = needed(w, names, lambda some: w.helps(trial(some)))
    if len(kept) < len(names):
        text, cost, _ = _opening(kept, perhaps=w.deadline.over())
        yield from w.ranked("admit-nodes", text, cost, trial(kept), instead=instead)


def fewer_pods(w: Workshop) -> Iterator[Ranked]:
    """Run with as many pods as have room."""
    if len(w.wanted) != 1:
        return
    [(s, wanted)] = w.wanted.items()
    podset = w.asked.podsets[s]
    role = w.job.roles[podset.role]
    running = 0 if role.running is None else w.asked.podsets[role.running].count
    if wanted < 2:
        return
    document = w.question.documents(w.asked)[w.j]
    whole = document.min_count is not None
    total = running + wanted

    def change(fewer: int) -> Change:
        text = f"run with {plural(total - fewer, 'pod')} instead of {total}"
        edits = _with_pods(w, total - fewer, role.name, whole=whole)
        return Change(edits, text, f"{plural(fewer, 'pod')} fewer")

    room = w.places[0].room if w.counting is None else w.counting.most()
    yield from fewest(w, "fewer-pods", [Scale(change, wanted - 1, wanted - room)])


def _with_pods(w: Workshop, pods: int, role: str, *, whole: bool) -> tuple[str, ...]:
    """Changes that make some pods enough: of a gang the minimum, else the number of pods."""
    name, role = quoted(w.job.name), quoted(role)
    if not w.job.is_gang:
        return (f"set={name}:{role}:count={pods}",)
    if whole:
        return (f"set={name}:minCount={pods}",)
    return (f"set={name}:{role}:minCount={pods}",)


def smaller_requests(w: Workshop) -> Iterator[Ranked]:
    """Ask no more of a node than the one with most beside its daemons, where none has enough.

    Of the nodes that have, beside their daemons, all else that a pod asks for.
    """
    bare = State(w.asked, w.asked.bare)
    for places in w.places:
        podset = w.asked.podsets[places.podset]
        for r, amount in enumerate(podset.requests):
            rest = [k for k, least in enumerate(podset.requests) if least and k != r]
            offered = max(
                (
                    int(bare.free[r, n])
                    for n in podset.allowed
                    if all(bare.free[k, n] >= podset.requests[k] for k in rest)
                ),
                default=0,
            )
            if not 0 < offered < amount:
                continue
            name = w.asked.resources[r]
            value = from_base(name, offered)
            text = f"ask for {value} {name} a pod instead of {from_base(name, amount)}"
            edit = f"set={quoted(w.job.name)}:{quoted(podset.name)}:{quoted(name)}={value}"
            yield from w.either("smaller-requests", text, "smaller pods", (edit,))
