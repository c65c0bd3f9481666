"""Why nodes do not take a pod: one cause per node, counted, and one node as witness."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import numpy as np

from kantopt.problem.uses import is_port
from kantopt.schema.model import Rule
from kantopt.schema.quantity import from_base, gpu_milli
from kantopt.search.shapes import MANY, Ints, Mask
from kantopt.search.state import State, rooms

FITS = ""
"""Cause of a node that takes a pod."""


class Causes:
    """The cause of each node for one pod set, in a state; the same for pods that ask the same."""

    def __init__(self, state: State, s: int) -> None:
        self.state = state
        self.s = s
        self.podset = state.instance.podsets[s]
        allowed = state.allowed(s)
        self.room_cause = np.full(state.size, FITS, dtype=object)
        self.lack: Ints = np.zeros(state.size, dtype=np.int64)
        """How far each node is from taking one pod, in thousandths of what the pod asks for."""
        shape, instance = state.shape[s], state.instance
        names = instance.resources
        lacking: Mask = np.zeros(state.size, dtype=np.bool_)
        for r, amount in asks_of(state, s):
            short = np.maximum(amount - state.free[r], 0)
            self.room_cause[(short > 0) & ~lacking] = names[r]
            lacking |= short > 0
            self.lack += (np.minimum(short / amount, 10.0**6) * 1000).astype(np.int64)
        no_devices = (rooms(state, shape, 1) < 1) & ~lacking
        if no_devices.any():
            self.room_cause[no_devices] = f"{self._class()} devices"
            self.lack[no_devices] += 1000
        for n in np.flatnonzero(~allowed).tolist():
            self.room_cause[n] = instance.refusal(s, n)
        self.full = allowed & (self.room_cause != FITS)
        """Nodes that admit the pods and have no room for one."""

    def _class(self) -> str:
        return "/".join(need.device_class for need in self.podset.devices)

    @cached_property
    def rule(self) -> Rule:
        """Rule that most of the full nodes fail by."""
        devices = f"{self._class()} devices"
        by_devices = int((self.room_cause[self.full] == devices).sum())
        return Rule.DEVICES if 2 * by_devices > int(self.full.sum()) else Rule.CAPACITY

    @cached_property
    def counts(self) -> str:
        """Number of nodes that fit and, per cause, of those that do not."""
        found = Counter(str(cause) for cause in self.room_cause)
        fitting = found.pop(FITS, 0)
        text = f"{fitting} of {self.state.size} nodes fit"
        ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
        listed = ", ".join(f"{k} {cause}" for cause, k in ranked)
        return f"{text}: {listed}" if listed else text

    @cached_property
    def witness(self) -> str:
        """Name the node that is closest to taking a pod, and what it is short of.

        Where none is full, the first one with room, and what it lacks for one pod more than that.
        """
        state, nodes, room = self.state, np.flatnonzero(self.full), 0
        if len(nodes):
            n = int(nodes[np.lexsort((nodes, self.lack[nodes]))[0]])
        else:
            fitting = np.flatnonzero(self.room_cause == FITS)
            if not len(fitting):
                return ""
            n = int(fitting[0])
            room = int(rooms(state, state.shape[self.s], MANY)[n])
        name, short = state.instance.nodes[n].name, short_of(state, self.s, n, room + 1)
        if short is None:
            return f"node {name}: {self._devices_on(n)}" if len(nodes) else ""
        resource, amounts = short
        if is_port(resource):  # how one is counted is nobody's business
            return f"node {name} has {resource} once"
        return f"node {name} would need {amounts}"

    def _devices_on(self, n: int) -> str:
        state = self.state
        for need, asked in zip(state.shape[self.s].needs, self.podset.devices, strict=True):
            able = state.device_class[n] == need.device_class
            for row, amount in need.ask:
                able &= state.devices[row, n] >= amount
            if int(able.sum()) < need.count:
                share = ", ".join(
                    f"{from_base(state.instance.resources[r], amount)}"
                    f" {state.instance.resources[r]}"
                    for r, amount in enumerate(asked.request)
                    if amount
                )
                having = f" with {share} free" if share else ""
                return f"{int(able.sum())} of {need.count} {asked.device_class} devices{having}"
        return "no room"


def asks_of(state: State, s: int) -> list[tuple[int, int]]:
    """Return what a pod asks of its node itself, GPUs first: resources and amounts."""
    names = state.instance.resources
    return sorted(state.shape[s].asks, key=lambda ask: (not gpu_milli(names[ask[0]], 1), ask[0]))


def short_of(state: State, s: int, n: int, pods: int) -> tuple[str, str] | None:
    """Return the resource of which a node has too little for so many pods, GPUs first.

    With it comes how much of the node's would be taken then: ``12 of 8 nvidia.com/gpu``.
    """
    for r, amount in asks_of(state, s):
        free, limit = int(state.free[r, n]), int(state.capacity[r, n])
        if pods * amount > free:
            name, taken = state.instance.resources[r], limit - free + pods * amount
            return name, f"{from_base(name, taken)} of {from_base(name, limit)} {name}"
    return None
