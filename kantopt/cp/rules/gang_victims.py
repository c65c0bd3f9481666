"""R13 gang victims."""

from __future__ import annotations

from kantopt.cp.variables import Variables


def add_gang_victims(m: Variables) -> None:
    """A job with disruptionMode all is evicted as a whole or not at all."""
    podsets = m.instance.podsets
    for job in m.instance.jobs:
        if job.all_victims and any(podsets[s].running for s in job.podsets):
            m.about("job", job.index)
            count = sum(podsets[s].count for s in job.podsets)
            gone = m.evicts_any(job.index)
            m.cp.add(m.role_placed(job.podsets) <= count * (1 - gone))
