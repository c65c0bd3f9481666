"""Queues that use more than their quota already: nothing comes to them, what is there may stay."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.jobs import Job
from kantopt.schema.model import Rule
from kantopt.schema.snapshot import Queue, QueueResource
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from kantopt.verify.rules import check
from kantopt.verify.rules.quota import queue_limit
from tests.agreement.test_encoding import Encodings
from tests.campaign import some
from tests.explain.helpers import asked, explained
from tests.generate import random_documents, without
from tests.oracle import best
from tests.placements import random_placement
from tests.search.helpers import built
from tests.solved import agrees
from tests.verify.world import broken, job, node, placed, pods, question

NODES = [node("a", cpu=4), node("b", cpu=4)]


def overdrawn(seed: int) -> Instance:
    """Give the jobs of a random question queues of few CPUs, alone or in a cohort that lends."""
    rng = random.Random(seed)
    snapshot, jobs, model = random_documents(seed)
    cohort = rng.choice(("", "c"))
    queues = []
    for name in ("x", "y"):
        lent = rng.choice((None, 0, 1)) if cohort else None
        cpu = QueueResource(name="cpu", nominal_quota=rng.randint(0, 3), lending_limit=lent)
        queues.append(Queue(name=name, cohort=cohort, resources=(cpu,)))

    def in_queue(items: Sequence[Job]) -> tuple[Job, ...]:
        return tuple(item.model_copy(update={"queue_name": rng.choice("xy")}) for item in items)

    update = {"queues": tuple(queues), "jobs": in_queue(snapshot.jobs)}
    return build_instance(snapshot.model_copy(update=update), in_queue(jobs.jobs), model)


def is_overdrawn(instance: Instance) -> bool:
    used = State(instance, instance.current).quotas.usage
    limits = (
        (used[queue.index][quota.resource], queue_limit(queue, quota), quota.nominal)
        for queue in instance.queues
        for quota in queue.quotas
    )
    return any(use > (nominal if limit is None else limit) for use, limit, nominal in limits)


def test_search_proves_what_brute_force_finds_where_queues_are_beyond_their_quota() -> None:
    mattered = asked_for = 0
    seeds = some(range(150))
    for seed in seeds:
        instance = overdrawn(seed)
        if not is_overdrawn(instance):
            continue
        asked_for += 1
        for strategy in (Strategy.E_BINPACK, Strategy.BEST_FIT):
            built(instance, strategy)
        expected = agrees(instance, f"seed {seed}")
        if expected is None:
            continue
        mattered += best(without(instance, Rule.QUOTA))[0] != expected
    assert asked_for >= len(seeds) / 5
    assert mattered >= len(seeds) / 15


def test_encoding_and_judge_agree_where_queues_are_beyond_their_quota() -> None:
    legal = illegal = 0
    for seed in some(range(150)):
        instance = overdrawn(seed)
        if not is_overdrawn(instance):
            continue
        encodings, rng = Encodings(instance), random.Random(seed)
        for _ in range(10):
            placement = random_placement(rng, instance)
            for rule in (Rule.QUOTA, Rule.PRIORITY):
                sound = not check(instance, placement, [rule])
                if instance.on(rule):
                    assert encodings.admit(placement, rule) == sound, f"seed {seed}, {rule}"
                    legal, illegal = legal + sound, illegal + (not sound)
    assert min(legal, illegal) > 50


def test_victims_come_back_to_a_queue_as_the_judge_has_it() -> None:
    answers = Counter[bool]()
    for seed in range(300):
        instance, rng = overdrawn(seed), random.Random(seed)
        for _ in range(10 if instance.on(Rule.QUOTA) else 0):
            placement = random_placement(rng, instance)
            if check(instance, placement, [Rule.QUOTA]):
                continue
            state = State(instance, placement)
            for podset in instance.podsets:
                spots = state.spots[podset.index]
                lost = [x for x, k in podset.current.items() if k > spots.get(x, 0)]
                if lost and state.placed[podset.index] < podset.count:
                    more = [Counter(each) for each in placement.podsets]
                    more[podset.index][lost[0]] += 1
                    back = Placement(tuple(map(dict, more)))
                    sound = not check(instance, back, [Rule.QUOTA])
                    assert (state.admitted(podset.index, 1) > 0) == sound, f"seed {seed}"
                    answers[sound] += 1
    assert min(answers[True], answers[False]) > 20


def test_nobody_is_evicted_for_a_job_larger_than_its_queue() -> None:
    queues = [{"name": "q", "resources": [{"name": "cpu", "nominalQuota": 3}]}]
    running = [job(name, pods(cpu=4, on=[name]), queueName="q") for name in "ab"]
    waiting = job("j", pods(cpu=4), queueName="q", priority=9)
    told = explained(asked(NODES, [*running, waiting], queues=queues), "default/j")
    assert told.verdict.status == "OVER_QUOTA"
    instance = question(NODES, [*running, waiting], queues=queues)
    assert broken(instance, Rule.QUOTA, a=[], j=["a"]) == ["queue q: 8 of 3 cpu"]


def test_who_keeps_quota_has_to_leave_of_it_what_its_cohort_is_beyond() -> None:
    """What others use too much is taken off what a queue has that lends nothing, as Kueue does."""
    own = {"name": "cpu", "nominalQuota": 4, "lendingLimit": 0}
    queues = [
        {"name": "q", "cohort": "c", "resources": [{"name": "cpu", "nominalQuota": 1}]},
        {"name": "r", "cohort": "c", "resources": [own]},
    ]
    old = job("o", pods(cpu=3, on=["a"]), queueName="q")
    new = [job(f"j{cpu}", pods(cpu=cpu), queueName="r") for cpu in (2, 3, 4)]
    instance = question(NODES, [old, *new], queues=queues)
    assert broken(instance, Rule.QUOTA, j2=["b"]) == []
    left = "cohort c: 3 of 1 shared cpu; queue r leaves 1 of its own"
    assert broken(instance, Rule.QUOTA, j3=["b"]) == [left]
    assert broken(instance, Rule.QUOTA, j4=["b"]) == ["cohort c: 3 of 1 shared cpu"]
    assert broken(instance, Rule.QUOTA, o=[], j4=["b"]) == []
    for placed_there, fits in ((["j2"], True), (["j3"], False), (["j4"], False)):
        there = placed(instance, **{name: ["b"] for name in placed_there})
        assert Encodings(instance).admit(there, Rule.QUOTA) == fits
    state = State(instance, instance.current)
    assert [state.admitted(s, 1) for s in (1, 2, 3)] == [1, 0, 0]


def available(instance: Instance, usage: list[list[int]], q: int, r: int) -> int:
    """What Kueue has for a queue: its own that is left, and what the cohort has, if below 0."""
    left = {}
    for queue in instance.queues:
        for quota in queue.quotas:
            if queue.cohort == instance.queues[q].cohort and quota.resource == r:
                lent = quota.nominal if quota.lending_limit is None else quota.lending_limit
                own = max(0, quota.nominal - lent)
                left[queue.index] = own - usage[queue.index][r], quota.nominal - own
    total = sum(lent + min(0, rest) for rest, lent in left.values())
    return max(0, left[q][0]) + total


def test_judge_and_search_admit_to_cohorts_whom_kueue_admits_one_after_the_other() -> None:
    answers = Counter[tuple[bool, bool]]()
    for seed in range(400):
        instance, rng = overdrawn(seed), random.Random(seed)
        if not (instance.on(Rule.QUOTA) and instance.queues[0].cohort):
            continue
        over = is_overdrawn(instance)
        for _ in range(10):
            placement = random_placement(rng, instance)
            usage = [[0] * len(instance.resources) for _ in instance.queues]
            asks = []
            for podset in instance.podsets:
                q, pods_there = instance.job_of(podset.index).queue, placement.placed(podset.index)
                for r, amount in enumerate(podset.demand):
                    if q is None or not amount * pods_there:
                        continue
                    if podset.running:
                        usage[q][r] += amount * pods_there
                    else:
                        asks.append((q, r, amount * pods_there))
            rng.shuffle(asks)
            fits = True
            for q, r, amount in asks:
                limited = any(quota.resource == r for quota in instance.queues[q].quotas)
                fits = fits and (not limited or amount <= available(instance, usage, q, r))
                usage[q][r] += amount
            assert (not check(instance, placement, [Rule.QUOTA])) == fits, f"seed {seed}"
            assert (not State(instance, placement).quotas.exceeded()) == fits, f"seed {seed}"
            answers[over, fits] += 1
    assert min(answers.values()) > 50
    assert len(answers) == 4


@pytest.mark.parametrize("cohort", ["", "c"])
def test_nobody_uses_quota_of_a_victim_that_is_not_his_where_more_was_used_than_there_is(
    cohort: str,
) -> None:
    """Where victims would be back beside who may not evict them, nothing new comes beyond, too."""
    cpu = {"name": "cpu", "nominalQuota": 2}
    queues = [{"name": "q", "cohort": cohort, "resources": [cpu]}]
    running = [
        job(name, pods(cpu=2, on=[n]), queueName="q", priority=priority)
        for name, n, priority in (("r5", "a", 5), ("r1", "b", 1))
    ]
    waiting = [job(f"w{p}", pods(cpu=1), queueName="q", priority=p) for p in (9, 3)]
    nodes = [node("a", cpu=2), node("b", cpu=2)]
    instance = question(nodes, [*running, *waiting], queues=queues)
    both = placed(instance, r5=[], r1=[], w9=["a"], w3=["b"])
    assert check(instance, both, [Rule.QUOTA]) == []
    whose = "cohort c: 3 of 2 shared cpu" if cohort else "queue q: 3 of 2 cpu"
    assert [str(each).partition(" with")[0] for each in check(instance, both)] == [
        f"priority: {whose}"
    ]
    assert not Encodings(instance).admit(both)
    alone = placed(instance, r5=[], r1=[], w9=["a"])
    assert Encodings(instance).admit(alone) == (check(instance, alone) == [])


@pytest.mark.parametrize("cohort", ["", "c"])
def test_as_many_go_as_a_queue_is_beyond_its_quota_where_a_more_important_job_comes(
    cohort: str,
) -> None:
    """Were one of them back the job could not come: beyond the quota nothing new does."""
    cpu = {"name": "cpu", "nominalQuota": 3}
    queues = [{"name": "q", "cohort": cohort, "resources": [cpu]}]
    running = [job(f"r{n}", pods(cpu=2, on=[n]), queueName="q") for n in "abc"]
    waiting = job("w", pods(cpu=1), queueName="q", priority=9)
    nodes = [node(n, cpu=4) for n in "abc"]
    instance = question(nodes, [*running, waiting], queues=queues)
    one = placed(instance, ra=[], w=["a"])
    two = placed(instance, ra=[], rb=[], w=["a"])
    three = placed(instance, ra=[], rb=[], rc=[], w=["a"])
    encodings = Encodings(instance)
    for placement, rules in ((one, [Rule.QUOTA]), (two, []), (three, [Rule.PRIORITY] * 3)):
        assert [fault.rule for fault in check(instance, placement)] == rules
        assert encodings.admit(placement) == (not rules)
    found = built(instance, Strategy.E_BINPACK)
    assert [found.placed(s) for s in range(4)].count(0) == 2
    assert agrees(instance, "beyond") is not None


def test_a_queue_gives_up_for_its_own_job_what_it_uses_beyond_what_it_never_lends() -> None:
    """Down to what it keeps it takes no part in what is shared; a victim more and it does again."""
    own = {"name": "cpu", "nominalQuota": 2, "lendingLimit": 0}
    other = {"name": "cpu", "nominalQuota": 0}
    queues = [
        {"name": name, "cohort": "c", "resources": [r]} for name, r in (("q", own), ("r", other))
    ]
    running = [job(f"r{i}", pods(cpu=1, on=["a"]), queueName="q") for i in range(4)]
    waiting = job("w", pods(cpu=1), queueName="q", priority=9)
    instance = question([node("a", cpu=8)], [*running, waiting], queues=queues)
    found = built(instance, Strategy.E_BINPACK)
    assert [found.placed(s) for s in range(5)] == [0, 0, 0, 1, 1]
