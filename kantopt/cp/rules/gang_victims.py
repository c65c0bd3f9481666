"""R13 gang victims."""

from __future__ import annotations

from kantopt.cp.variables import Variables


def add_gang_victims(m: Variables) -> None:
    """A job with disruptionMode all is evicted as a whole or not at all."""
    for job in m.instance.jobs:
        if job.all_victims and m.instance.running_of(job.index):
            m.about("job", job.index)
            gone = m.evicts_any(job.index)
            m.cp.add(m.role_placed(job.podsets) <= job.count * (1 - gone))
