"""Who gets how much time: shares of what is left at that moment, and seconds kept for later.

In the order of a run. What the techniques in the solver's process get stands beside their order,
in `search/schedule.py`; what is kept for ordering and writing a plan is measured, in
`planning/solving/ending.py`. Limits of one call of a solver stand where it is called.
"""

from __future__ import annotations

# -- the planner

WRITING_PLAN = 0.06
"""Seconds that writing takes of the smallest plan, and leaving."""
NAMING_A_JOB = 0.00015
"""Seconds for each job of a question: whose rest is told, and by what the question is known."""
FEW_ACTIONS, WRITING_ACTION, WRITING_JOB = 200, 0.00001, 0.00003
"""Pods that a small plan binds, evicts or moves; seconds for each more, and for each more of their
jobs and of those that wait."""
NAMING_A_VICTIM, NAMING_VICTIMS = 0.005, 2.0
"""Seconds in which is found out for whom a victim goes, and many victims."""
ORDERING_A_POD = 0.0003
"""Seconds that an order takes for each pod that is evicted or moved."""
UNTANGLING_JUDGINGS, UNTANGLING = 12, 1.0
"""Times that judging a plan takes, and seconds at most, in which circles of moves are untangled."""
ENDING = 0.8
"""For order, names and writing, at most."""
SAYING_WHY = 0.15
"""Seconds in which is said why jobs stay pending, though the time be up: mostly all of them."""
CASCADE = 0.05
"""For what victims would do next and for what fills their room, at most."""
LEFTOVER_JUDGINGS = 5
"""Judgings of a plan that the question of what fills victims' room takes besides its search."""
TELLING = 1 / 4
"""Of what is kept for the ending: for writing the plan down, once all is said about it."""
LEAST = 0.15
"""Seconds that a small question is looked at, though the time be up: rather late than nothing."""
ONE_STRATEGY = 1.5
"""With fewer seconds left, moves of single pods are worth more than a second strategy."""
LAST_PLAN = 0.25
"""To find out what of the plan of the run before can still be done."""
RETURNING = 0.05
"""To bring a plan nearer to that of the run before: once a first one is there, and at last."""
SPARING = 1 / 4
"""To keep victims whom a look at free places can save: at last, of what an order may take."""
HOMECOMING, HOMECOMING_BESIDE = 1 / 2, 1 / 20
"""To take moves back that nobody needs: at last, of what an order may take, which is less for each
that is taken back; and beside an exact search, of each plan that comes from there."""
STRATEGIES, STRATEGIES_BEFORE = 1 / 3, 1 / 10
"""For strategies after the first; and before an exact search, beside which another order is tried
if there was no time for a second."""
LEAST_COST = 1 / 10
"""For clearing of many places the cheapest."""
LEFT_OUT = 1 / 10
"""For placing those first who were left out."""
COMPACT = 1 / 4
"""For constructing once where nodes were emptied before."""
RECREATE_GANGS = 1 / 4
"""For constructing anew, again and again, without a few of the new gangs."""
RECREATE = 1 / 3
"""For placing more pods around the best of them."""
DRAIN = VACATE = 0.15
"""For moving pods off nodes and domains, each."""
VACATE_PLAIN = 0.5
"""Of that, without others who make way."""
FIT = GAIN = 0.5
"""For making room for jobs, and for lowering sums over nodes: plans have little else to do then."""
REGROUP, REGROUP_BESIDE = 0.5, 0.25
"""For bringing gangs together where no exact search follows; and beside one, before chains."""
CHAINS_BEFORE = 1 / 3
"""For moves of single pods, where there is no processor for them beside the exact search."""
MAKING_WAY = 0.4
"""What is left for moves when new pods make way for who is left out: till then others look for
places that cost less."""
RESTING = 0.8
"""For CP-SAT alone with the whole question on a machine where it waits for a processor, before
moves of single pods go on."""
TASK, WRITING_A_PODSET = 1 / 10, 4e-5
"""For writing out the task of an exact search before the first plan is refined, at most; and
seconds of that for each pod set."""
GRACE, MOST_GRACE = 1 / 20, 0.2
"""What an exact search ends before its time, for its last word; and seconds of that at most."""

# -- techniques in the solver's process, of what their turn gives them

WHOLE = 0.5
"""Seconds that are not worth dividing: the first to have its turn has them all."""
FIRST_TIERS = 0.5
"""For parts that share nothing, where only the first tiers are sums over them."""
WHEEL = 0.3
"""For bringing gangs closer together, the first time."""
COLUMNS_ROUNDS, COLUMNS_CHOICE = 0.6, 0.5
"""For contents of nodes: until the first choice among them, and for one choice."""
COLUMNS_ORDER = 2.0
"""Most seconds in which pods are let step out of each other's way, after one choice."""
COVERING_CHOICE = 3.0
"""Most seconds for one choice of contents of bins."""
NEIGHBOURHOOD = 0.25
"""Seconds for one neighbourhood."""
NEIGHBOURHOODS_WORK = 0.25
"""For neighbourhoods, of the work that the exact search has, where that is counted."""
SHARE_OF_PROXIMITY, MOST_PROXIMITY = 0.2, 3.0
"""For coming nearer to the last plan, after all others; and seconds of that at most."""
NEARER_THERE = 0.5
"""Of that, for the nodes where the plans differ; the rest is for the whole question."""
DISRUPTION = 0.5
"""For one tier of disruption while others wait, and of that for its bound."""

# -- other commands

DEFRAG_FIRST = 0.5
"""`defrag --min-benefit`: for a plan; as much is left for asking again with fewer moves."""
PRICES_FIRST = 1 / 3
"""`plan --clear`: for a first price of every domain."""
CERTIFY_FIRST, CERTIFY_LAST = 0.2, 0.1
"""`certify`: for multipliers of what is given, before the search and after it."""
CROSS_CHECK = 0.4
"""`certify --cross-check`: for the second solver."""
CONTENT_PRICES = 0.5
"""Of a look for multipliers, for those of contents: of some hundred nodes they take less."""
NODE_PRICES = 0.4
"""Of a look for multipliers, for those of nodes: to work the bound out again takes as long."""
LEAST_DISTURBANCE = (1.5, 0.6, 10.0)
"""`explain`: for a first plan of a large question: seconds at least, share of what is left,
seconds at most."""
LESS_DISTURBANCE = (1.0, 0.1, 3.0)
"""The same for a smaller disturbance than that of a plan found by heuristics, if that is small."""
LEAST_DISTURBANCE_LEFT = 10.0
"""Seconds that must be left to look for one in a question that is not small."""
PLAN_BESIDE = 0.5
"""`explain`: for one plan for all that waits, of a small question."""
LESS_CHANGE = 0.5
"""`explain`: at last, for smaller changes that are enough if others are moved or evicted."""
NARROWING = 0.6
"""Most seconds for narrowing a conflict of a large question down."""
CAPACITY_NOW, CAPACITY_ALL = 0.5, 0.6
"""`capacity`: for what fits as the cluster stands, and of the rest for moves without a limit."""
CAPACITY_RELOCATION = 0.5
"""Of each of them, at most: for copies one after the other, which mostly takes moments."""
CAPACITY_SLOTS, CAPACITY_MOVES = 0.5, 0.25
"""For free slots of what is scarcest, and at last for fewer moves."""
WRITING_CERTIFICATE = WRITING_PRICES = WRITING_CAPACITY = 0.3
WRITING_EXPLANATION = 0.5
"""Seconds kept for writing."""
