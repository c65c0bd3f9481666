"""Rules about neighbours in the words of a conflict: who must be near whom, apart, or spread."""

from __future__ import annotations

from kantopt.problem.affinities import CLUSTER
from kantopt.problem.instance import Instance
from kantopt.schema.answers.explanation import ConflictItem
from kantopt.schema.hints import plural
from kantopt.schema.model import Rule
from kantopt.verify.rules.spread import spread_domains

_CLUSTER = "the whole cluster, for a ReadWriteOncePod claim"
_NAMED = 3
"""Neighbours that a message names; all of them are among its jobs."""


def neighbours_item(question: Instance, rule: Rule, kind: str, index: int) -> ConflictItem:
    """Say of one affinity, anti-affinity or spread constraint what it holds for."""
    if kind == "spread":
        spread = question.spreads[index]
        podset = question.podsets[spread.owner]
        text = f"at most {spread.max_skew} more in one {spread.key} than in the emptiest"
        domains = len(spread_domains(question, spread))
        if domains < spread.min_domains:
            few = f"{domains} of {spread.min_domains} (minDomains) count"
            text = f"at most {spread.max_skew} in one {spread.key}, for only {few}"
        others: tuple[int, ...] = ()
    elif kind == "affinity":
        near = question.affinities[index]
        podset = question.podsets[near.owner]
        others = tuple(sorted({question.podsets[s].job for s in near.anchors} - {podset.job}))
        names = _named(question, others)
        like = ["one of its own"] if near.founds else []
        whom = " or ".join([*like, *([names] if names else [])]) or "a pod that is nowhere"
        text = f"only beside {whom} in one {' and '.join(near.keys)}"
    else:
        term = question.anti_affinities[index]
        podset = question.podsets[term.owner]
        others = tuple(sorted({question.podsets[s].job for s in term.others} - {podset.job}))
        own = "at most 1 of its pods" if term.owner in term.others else ""
        names = _named(question, others)
        apart = f"0 pods beside {names}" if names else ""
        where = f"one {term.key}" if term.key != CLUSTER else _CLUSTER
        text = f"{' and '.join(part for part in (own, apart) if part)} in {where}"
    if podset.running:
        text += ", also where running pods move to"
    job = question.jobs[podset.job]
    jobs = (job.name, *(question.jobs[i].name for i in others))
    subject = question.subject(podset.index)
    return ConflictItem(rule=rule.value, subject=subject, message=text, jobs=jobs)


def _named(question: Instance, jobs: tuple[int, ...]) -> str:
    names = ", ".join(question.jobs[j].name for j in jobs[:_NAMED])
    more = len(jobs) - _NAMED
    return f"{names} and {plural(more, 'job')} more" if more > 0 else names
