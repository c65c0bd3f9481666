"""What each rule is about: lists of rules are made of these, so that a new one joins them."""

from __future__ import annotations

from enum import Enum, auto

from kantopt.schema.model import Rule


class About(Enum):
    """What a rule looks at."""

    ROOM = auto()
    """What a node or a device holds."""
    NODES = auto()
    """Which nodes a pod may be on."""
    GANG = auto()
    """How many pods of a job are placed."""
    DOMAINS = auto()
    """Where the pods of one job are to each other."""
    QUOTA = auto()
    """What the jobs of queues use together."""
    NEIGHBOURS = auto()
    """Where pods of several jobs are to each other."""
    CHANGES = auto()
    """Which pods of those that run go, and for whom."""
    ARRIVAL = auto()
    """Who must come, and how many may, in the plan as a whole."""


ABOUT = {
    Rule.CAPACITY: About.ROOM,
    Rule.DEVICES: About.ROOM,
    Rule.ELIGIBILITY: About.NODES,
    Rule.GANG: About.GANG,
    Rule.TOPOLOGY: About.DOMAINS,
    Rule.SLICES: About.DOMAINS,
    Rule.QUOTA: About.QUOTA,
    Rule.ANTI_AFFINITY: About.NEIGHBOURS,
    Rule.SPREAD: About.NEIGHBOURS,
    Rule.PRIORITY: About.CHANGES,
    Rule.PINNED: About.CHANGES,
    Rule.DISRUPTION: About.CHANGES,
    Rule.GANG_VICTIMS: About.CHANGES,
    Rule.LIMITS: About.CHANGES,
    Rule.REQUIRED: About.ARRIVAL,
    Rule.AFFINITY: About.NEIGHBOURS,
}


def rules_about(*kinds: About) -> tuple[Rule, ...]:
    """Return the rules that are about one of some things, in the order of ``Rule``."""
    return tuple(rule for rule in Rule if ABOUT[rule] in kinds)


STATE_RULES = rules_about(
    About.ROOM, About.NODES, About.GANG, About.DOMAINS, About.QUOTA, About.NEIGHBOURS
)
"""Rules that hold after every wave of a plan; the others judge the plan as a whole."""
ARRIVAL_RULES = (*STATE_RULES, *rules_about(About.ARRIVAL))
"""Rules about pods that arrive; the others are about those that are in the way."""
