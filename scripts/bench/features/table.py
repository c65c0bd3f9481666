"""The table of features: each with the reason why it changes no optimum."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

from kantopt.schema.model import Rule
from scripts.bench.features import asking, gangs, jobs, nodes, placing, quotas, tiny
from scripts.bench.features.stated import Change, Stated

_R = Rule


@dataclass(frozen=True, slots=True)
class Feature:
    """Something more in a question that binds nobody."""

    name: str
    change: Change = field(repr=False)
    """Raises :class:`~.stated.NotHereError` where it could bind somebody."""
    harmless: str
    """Why values and optima are those without it."""
    rules: tuple[Rule, ...] = ()
    """Rules that have more to look at."""
    if_all_placed: bool = False
    """Whether that holds only where the best plan without it leaves nobody out."""


CONTROL = "nothing"
"""The feature that adds nothing: what two runs of the same question differ by."""

_SINGLE = (
    Feature(CONTROL, lambda stated: stated, "it is the same question"),
    Feature(
        "budget-allowed",
        quotas.budget_allowed,
        "all running pods may go at once",
        (_R.DISRUPTION,),
    ),
    Feature(
        "budget-min-available",
        quotas.budget_min_available,
        "none has to stay, so all that run may go at once",
        (_R.DISRUPTION,),
    ),
    Feature(
        "budget-max-unavailable",
        quotas.budget_max_unavailable,
        "all may be away, so all that run may go at once",
        (_R.DISRUPTION,),
    ),
    Feature(
        "budget-per-job",
        quotas.budget_per_job,
        "all pods of each job may go at once, and each is under one budget",
        (_R.DISRUPTION,),
    ),
    Feature("queue", quotas.queue, "all jobs together stay below the quota", (_R.QUOTA,)),
    Feature(
        "queue-reserved",
        quotas.queue_reserved,
        "all jobs that wait hold quota, of which there is more than all of them need",
        (_R.QUOTA,),
    ),
    Feature("cohort", quotas.cohort, "all jobs together stay below either quota", (_R.QUOTA,)),
    Feature(
        "queue-min-runtime",
        quotas.queue_min_runtime,
        "all pods have run for longer, and have saved their work",
        (_R.PINNED,),
    ),
    Feature(
        "min-count-single",
        gangs.min_count_single,
        "of one pod at least one runs or none",
        (_R.GANG,),
    ),
    Feature(
        "min-count-job",
        gangs.min_count_job,
        "of one pod at least one runs or none",
        (_R.GANG,),
    ),
    Feature(
        "min-count-one",
        gangs.min_count_one,
        "where all pods are placed all minima are met, and tiers of what is left out are 0",
        (_R.GANG,),
        if_all_placed=True,
    ),
    Feature(
        "disruption-mode-all",
        gangs.disruption_mode_all,
        "the whole job is its one pod",
        (_R.GANG_VICTIMS,),
    ),
    Feature("topology-level", gangs.topology_level, "no job names it"),
    Feature(
        "topology-required",
        gangs.topology_required,
        "wherever pods are they share the only domain",
        (_R.TOPOLOGY,),
    ),
    Feature(
        "topology-of-job",
        gangs.topology_of_job,
        "wherever pods are they share the only domain",
        (_R.TOPOLOGY,),
    ),
    Feature(
        "topology-preferred",
        gangs.topology_preferred,
        "wherever pods are they use one domain, the fewest there can be",
    ),
    Feature("slices", gangs.slices, "any number of pods is whole slices of one", (_R.SLICES,)),
    Feature(
        "gang-of-two",
        gangs.gang_of_two,
        "some node has two places left wherever others are, and it asks for nothing else",
        (_R.TOPOLOGY, _R.GANG),
    ),
    Feature("node-selector", placing.node_selector, "all nodes have the label", (_R.ELIGIBILITY,)),
    Feature("node-affinity", placing.node_affinity, "all nodes meet the term", (_R.ELIGIBILITY,)),
    Feature(
        "volume-affinity", placing.volume_affinity, "all nodes meet the term", (_R.ELIGIBILITY,)
    ),
    Feature("taints", placing.taints, "all pods tolerate them", (_R.ELIGIBILITY,)),
    Feature("tolerations", placing.tolerations, "no node has these taints", (_R.ELIGIBILITY,)),
    Feature("outlasting", placing.outlasting, "no taint is for a time to come", (_R.ELIGIBILITY,)),
    Feature(
        "spread", placing.spread, "no node has more pods of a job than there are", (_R.SPREAD,)
    ),
    Feature(
        "spread-of-all", placing.spread_of_all, "no node has more pods than there are", (_R.SPREAD,)
    ),
    Feature(
        "anti-affinity-to-nobody",
        placing.anti_affinity_to_nobody,
        "no pod has the label",
        (_R.ANTI_AFFINITY,),
    ),
    Feature(
        "anti-affinity-of-two",
        placing.anti_affinity_of_two,
        "two nodes have a place left wherever others are, and they ask for nothing else",
        (_R.ANTI_AFFINITY,),
    ),
    Feature(
        "pod-affinity",
        placing.pod_affinity,
        "an agent stays on every node and brings its own room",
        (_R.AFFINITY,),
    ),
    Feature("preferred-nodes", placing.preferred_nodes, "all nodes meet the wish alike"),
    Feature("preferred-pods", placing.preferred_pods, "all nodes meet the wishes"),
    Feature("preferred-spread", placing.preferred_spread, "no node has more pods than there are"),
    Feature("claims", placing.claims, "each claim has one user", (_R.ANTI_AFFINITY,)),
    Feature(
        "host-ports",
        tiny.host_ports,
        "some node has a place left wherever others are, and nobody else asks for the ports",
        (_R.CAPACITY,),
    ),
    Feature("resource-unused", nodes.resource_unused, "nobody asks for it", (_R.CAPACITY,)),
    Feature(
        "resource",
        tiny.resource,
        "some node has a place left wherever others are, and nobody else asks for it",
        (_R.CAPACITY,),
    ),
    Feature("devices-unused", tiny.devices_unused, "nobody asks for them", (_R.DEVICES,)),
    Feature(
        "devices",
        tiny.devices,
        "some node has a place left wherever others are, and nobody else asks for them",
        (_R.DEVICES,),
    ),
    Feature("daemons", tiny.agents, "they stay and bring their own room", (_R.CAPACITY,)),
    Feature("pinned-job", tiny.pinned_job, "it brings its own room", (_R.PINNED,)),
    Feature(
        "required-job", tiny.required_job, "it runs, stays, and brings its room", (_R.REQUIRED,)
    ),
    Feature("exempt", tiny.exempt, "its one pod would stay anyway", (_R.PINNED,)),
    Feature("exempt-nobody", tiny.exempt_nobody, "no pod has the label", (_R.PINNED,)),
    Feature("terminating", tiny.terminating, "it brings its own room"),
    Feature("nominated", tiny.nominated, "it brings its own room"),
    Feature("not-modelled", tiny.not_modelled, "its one pod would stay anyway"),
    Feature("too-large", tiny.too_large, "no node holds it, and it is below all", (_R.CAPACITY,)),
    Feature("live-move", tiny.live_move, "it may be nowhere else and brings its own room"),
    Feature("assumed", jobs.assumed, "the model takes it for granted"),
    Feature("health", jobs.health_unready, "only budgets ask, and there are none"),
    Feature("fair-shares", quotas.fair_shares, "they are counted after all else"),
    Feature("dirty-rate", jobs.dirty_rate, "only how long moves take depends on it"),
    Feature("cordoned-node", nodes.cordoned_node, "no pod comes to it", (_R.ELIGIBILITY,)),
    Feature("unready-node", nodes.unready_node, "no pod comes to it", (_R.ELIGIBILITY,)),
    Feature("another-pool", nodes.another_pool, "neither may use the other's", (_R.ELIGIBILITY,)),
    Feature("drained-node", nodes.drained_node, "nobody is on it, nobody comes", (_R.ELIGIBILITY,)),
    Feature("prices", nodes.prices, "they are counted after all else"),
    Feature("hostname-labels", nodes.hostname_labels, "names stood for them"),
    Feature("memory-differs", nodes.memory_differs, "what fitted fits, no more", (_R.CAPACITY,)),
    Feature("priority-classes", nodes.priority_classes, "no job has them; the default is 0"),
    Feature("named-classes", jobs.named_classes, "they have the priorities of their jobs"),
    Feature("namespaces", jobs.namespaces, "no rule asks for them", (_R.LIMITS,)),
    Feature("node-identities", nodes.identities, "no rule asks for them"),
    Feature("pod-identities", jobs.identities, "no rule asks for them"),
    Feature("defaults-in-words", jobs.defaults_in_words, "they are what was meant", (_R.PINNED,)),
    Feature(
        "never-of-the-lowest",
        jobs.never_of_the_lowest,
        "nobody is below them",
        (_R.PRIORITY,),
    ),
    Feature("times", jobs.times, "nobody has waited, and nobody loses work"),
    Feature(
        "min-runtime", jobs.min_runtime, "all have run for longer, and have saved", (_R.PINNED,)
    ),
    Feature("limit-moves", asking.limit_moves, "no plan has as many", (_R.LIMITS,)),
    Feature("limit-evictions", asking.limit_evictions, "no plan has as many", (_R.LIMITS,)),
    Feature("limit-waves", asking.limit_waves, "no plan has as many", (_R.LIMITS,)),
    Feature("limits-of-parts", asking.limits_of_parts, "no plan has as many", (_R.LIMITS,)),
    Feature("limit-min-runtime", asking.limit_min_runtime, "nobody has run for less", (_R.PINNED,)),
    Feature("max-moves", asking.max_moves, "no plan has as many", (_R.LIMITS,)),
    Feature("max-moves-at-once", asking.max_moves_at_once, "no job has more pods", (_R.LIMITS,)),
    Feature("rules-off", asking.rules_off, "they speak of nobody"),
    Feature("goal-reached", asking.goal_reached, "its tier is 0 under every plan"),
    Feature("objectives-of-nobody", asking.objectives_of_nobody, "they are 0 under every plan"),
    Feature("objective-implied", asking.objective_implied, "it comes last"),
    Feature("never-overfull", asking.never_overfull, "no node holds more than it offers"),
    Feature("pending-all", asking.pending_all, "the pattern leaves nobody out"),
    Feature("disturb", asking.disturb, "it says how other documents are read"),
    Feature("min-benefit", asking.min_benefit, "only defragmenting asks for it"),
    Feature("schedule", asking.schedule, "it has no say in what is planned"),
)

_FIVES = {
    "five-everyday": ("budget-per-job", "queue", "min-count-single", "spread", "daemons"),
    "five-of-places": (
        *("node-selector", "node-affinity", "topology-required"),
        *("anti-affinity-of-two", "pod-affinity"),
    ),
    "five-of-limits": (
        *("limits-of-parts", "limit-waves", "max-moves-at-once", "budget-allowed", "min-runtime"),
    ),
}
"""Five features at once, applied in this order."""


def _five(name: str, parts: tuple[str, ...]) -> Feature:
    known = {feature.name: feature for feature in _SINGLE}
    features = [known[part] for part in parts]

    def change(stated: Stated) -> Stated:
        return reduce(lambda made, feature: feature.change(made), features, stated)

    rules = tuple(dict.fromkeys(rule for feature in features for rule in feature.rules))
    return Feature(name, change, f"none of {', '.join(parts)} binds anybody", rules)


FEATURES = {
    feature.name: feature
    for feature in (*_SINGLE, *(_five(name, parts) for name, parts in _FIVES.items()))
}
