"""What cohorts share is kept up to date as it would be added up, as is who came."""

from __future__ import annotations

import random
from collections import Counter
from copy import deepcopy

from kantopt.verify.rules.quota import cohorts, shared_use
from kantopt.verify.usage import Usage
from tests.verify.world import job, node, pods, question


def test_what_is_shared_is_what_queues_use_beyond_what_they_never_lend() -> None:
    rng = random.Random(5)
    queues = [
        {
            "name": f"q{i}",
            "cohort": rng.choice(["", "one", "two"]),
            "resources": [
                {"name": name, "nominalQuota": rng.randint(0, 9), "lendingLimit": rng.randint(0, 9)}
                for name in rng.sample(["cpu", "memory"], rng.randint(0, 2))
            ],
        }
        for i in range(12)
    ]
    jobs = [job(f"j{i}", pods(cpu=1, on=["a"]), queueName=f"q{i}") for i in range(12)]
    instance = question([node("a", cpu=99)], jobs, queues=queues)
    usage, earlier, came = Usage(instance), Usage(instance), Counter[tuple[int, int]]()
    for turn in range(300):
        demand = [rng.choice((0, 500, 2000)) for _ in instance.resources]
        q, pods_more = rng.randrange(12), rng.choice((-2, -1, 1, 2, 3))
        new = rng.choice((0, pods_more))
        usage.add(q, demand, pods_more, new)
        came.update({(q, r): new * amount for r, amount in enumerate(demand)})
        of = usage.of
        assert usage.shared == {key: shared_use(by, of) for key, by in cohorts(instance).items()}
        assert {at: usage.newcomers.get(at, set()) for at in usage.shared} == {
            (name, r): {queue.index for queue, _ in by if came[queue.index, r] > 0}
            for (name, r), by in cohorts(instance).items()
        }
        if turn == 150:
            earlier = usage.copy()
            then = deepcopy((usage.shared, usage.newcomers, usage.came))
    assert (earlier.shared, earlier.newcomers, earlier.came) == then
    assert earlier.shared != usage.shared
    usage.settle()
    assert not usage.newcomers
