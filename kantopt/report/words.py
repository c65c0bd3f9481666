"""Words of the scheduler whose cluster it is, where a text would use those of Kubernetes.

Documents keep ours. Texts are changed just before they are shown, so that whoever makes one need
not know where its cluster comes from; names of the cluster are kept out of that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from kantopt.report.blocks import Block, with_texts
from kantopt.schema.quantity import SLURM_NAMES

if TYPE_CHECKING:
    from kantopt.schema.base import Part
    from kantopt.schema.jobs import Job
    from kantopt.schema.snapshot import ClusterSnapshot

SLURM = {
    "pod set": "component",
    "podset": "component",
    "pod": "task",
    **SLURM_NAMES,
    "cordoned": "drained",
    "uncordon": "resume",
    "node selector or affinity": "partition, constraint or node list",
    "didn't match pod's node affinity/selector": "outside its partition, constraint or node list",
    "unschedulable": "drained",
    "taint": "reservation",
    "tainted": "reserved",
}
"""What Slurm says instead, in the singular; a task is what of a job is on one node together."""
_VOCABULARIES = {"slurm": SLURM}

_BEFORE, _BEHIND = r"\w./:=-", r"[\w/=-]|\.\w"
"""What a word stands beside that is part of a name, such as ``team/pod``, or of what somebody is to
type, such as ``uncordon=n1``."""
_COUNTS = (r"\d", r"\bone", r"\ba", r"\bno", r"\bper")
"""No name stands behind one of these."""
_NOUNS = ("node", "leaf", "block", "switch", "queue", "domain", "level", "partition", "reservation")
"""What is named stands behind one of these: ``leaf pod``."""


@dataclass(frozen=True, slots=True)
class Words:
    """How texts about a cluster are put.

    ``source`` is what the cluster was read from, as ``readAs`` of a plan names it, and ``names``
    are those of the cluster in which one of the words stands. Where such a name is nothing but the
    word, only what follows a number is taken for the word: a name is never changed.
    """

    source: str = ""
    names: frozenset[str] = frozenset()

    def of(self, text: str) -> str:
        """Put a text into the words of the source."""
        words = _VOCABULARIES.get(self.source)
        return text if words is None else _spoken(text, self.source, self.names)

    def of_blocks(self, blocks: Sequence[Block]) -> list[Block]:
        """Put what blocks say into the words of the source."""
        if self.source not in _VOCABULARIES:
            return list(blocks)
        return [with_texts(block, self.of) for block in blocks]


OURS = Words()
"""Texts as they are made."""


def words_about(
    source: str, snapshot: ClusterSnapshot | None = None, jobs: Iterable[Job] = ()
) -> Words:
    """Return the words for a cluster that was read from somewhere, with what it names."""
    if source not in _VOCABULARIES:
        return OURS
    names = {*_names_of_jobs(jobs)}
    if snapshot is not None:
        names |= {*_names_of(snapshot)}
    word = _pattern_of(source, frozenset())
    return Words(source, frozenset(name for name in names if word.search(name)))


def words_for(document: Part) -> Words:
    """Return the words for a document, as far as it says what it was made of."""
    from kantopt.schema.answers.plan import Plan

    plan = getattr(document, "plan", document)
    if isinstance(plan, Plan):
        read_as = plan.metadata.read_as
    else:
        read_as = getattr(document, "read_as", None)
    jobs = plan.jobs if isinstance(plan, Plan) else ()
    return OURS if read_as is None else words_about(read_as.source, None, jobs)


def _names_of(snapshot: ClusterSnapshot) -> Iterator[str]:
    for node in snapshot.nodes:
        yield node.name
        yield from node.labels.values()
    yield from (queue.name for queue in snapshot.queues)
    yield from (level.name for level in snapshot.topology.levels)
    yield from _names_of_jobs(snapshot.jobs)


def _names_of_jobs(jobs: Iterable[Job]) -> Iterator[str]:
    for job in jobs:
        yield from (job.namespace, job.name, job.queue_name)
        for podset in job.pod_sets:
            yield podset.name
            yield from podset.labels.values()


def _spoken(text: str, source: str, names: frozenset[str]) -> str:
    words = _VOCABULARIES[source]

    def other(found: re.Match[str]) -> str:
        if not found["word"]:
            return found[0]
        word = words[found["word"].lower()] + found["many"].lower()
        if found["word"].isupper():
            word = word.upper()
        elif found["word"][0].isupper():
            word = word[0].upper() + word[1:]
        return (found["job"] or "") + word

    return _pattern_of(source, names).sub(other, text)


@cache
def _pattern_of(source: str, names: frozenset[str]) -> re.Pattern[str]:
    """Return what finds words, and before them names, which are to stay as they are."""
    words = "|".join(map(re.escape, sorted(_VOCABULARIES[source], key=len, reverse=True)))
    bare = {name for name in names if re.fullmatch(rf"({words})s?", name, re.IGNORECASE)}
    kept = _any_of(names - bare) + _any_of(bare, "".join(f"(?<!{count} )" for count in _COUNTS))
    behind = "".join(rf"(?<!\b{noun} )" for noun in _NOUNS)
    return re.compile(
        rf"{kept}(?<![{_BEFORE}]){behind}(?P<job>JOB/)?(?P<word>{words})(?P<many>s?)(?!{_BEHIND})",
        re.IGNORECASE,
    )


def _any_of(names: Iterable[str], unless: str = "") -> str:
    """Return an alternative that finds any of some names, as they are written."""
    named = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return rf"{unless}(?<!\w)(?-i:{named})(?!\w)|" if named else ""
