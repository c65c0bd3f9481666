"""Placeholders of YuniKorn's: pods that hold the room of a gang until it has all that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kantopt.formats.kubernetes.gangs import Dialect
from kantopt.formats.kubernetes.jobs import Member
from kantopt.formats.kubernetes.nominated import requests_of
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.notes import Notes


def with_placeholders(members: Sequence[Member], notes: Notes) -> list[Member]:
    """Put pods that wait where a placeholder of their task group holds room for them.

    YuniKorn replaces it by the pod once all of the gang have theirs. A placeholder that waits is no
    pod beside the one that it stands for. Those for pods that nobody has made yet stay: they hold,
    or ask for, the room of these.
    """
    held: dict[object, list[Member]] = {}
    for member in sorted(members, key=lambda member: not member.pod.node):
        if member.gang and _is_placeholder(member.pod):
            held.setdefault(member.gang, []).append(member)
    replaced: set[str] = set()
    kept = []
    for member in members:
        pod, free = member.pod, held.get(member.gang, [])
        fitting = [i for i, m in enumerate(free) if _fits(pod, m.pod)]
        if fitting and not pod.node and not _is_placeholder(pod):
            placeholder = free.pop(fitting[0]).pod
            replaced.add(placeholder.full_name)
            if placeholder.node:
                text = "pods whose room placeholders of YuniKorn's hold count as placed there"
                notes.add(text, f"{pod.full_name} on {placeholder.node}")
                # Neither it nor the placeholder is there to be moved or evicted by itself.
                stays = ("reserved", *pod.stays)
                pod = replace(pod, node=placeholder.node, stays=stays)
        if pod.scheduler == "yunikorn":
            text = "pods of YuniKorn's, whose queues (quotas, whom they let evict) are not read"
            notes.add(text, pod.full_name)
        kept.append(replace(member, pod=pod))
    return [member for member in kept if member.pod.full_name not in replaced]


def _is_placeholder(pod: Pod) -> bool:
    return pod.annotations.get(f"{Dialect.YUNIKORN}/placeholder") == "true"


def _fits(pod: Pod, placeholder: Pod) -> bool:
    room = requests_of(placeholder)
    return all(amount <= room.get(name, 0) for name, amount in requests_of(pod).items())
