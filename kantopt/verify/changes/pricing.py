"""What each node could gain at best at given prices of moves and of pods: exact arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kantopt.verify.changes.ground import Ground, Ints

Mask = NDArray[np.bool_]

LARGEST = 2**60
"""Most that sums of prices may come to: tables are of 64 bits."""
_ETAS = 16
_THETAS = (0, 1, 2, 4, 8, 16)
"""Prices of the number of pods that leave, in eighths of the price of a move."""
_MOST_ON_DEVICE = 8
NOTHING = -(2**60)


@dataclass(frozen=True, slots=True)
class Prices:
    """Integers: of a move, of each kind's pods, of waiting ones, and what these are worth.

    A node is paid ``pod``, of either sign, for taking in a running pod of a kind and pays it, and
    ``move``, for sending one away; a pod that waits brings it ``worth`` less ``waiting``. All but
    ``pod`` are from 0 on.
    """

    move: int
    pod: Ints
    waiting: Ints
    worth: Ints


@dataclass(frozen=True, slots=True)
class Answer:
    """Bound on the gain, in units of prices, and how the prices would have to change."""

    gain: int
    """Most that all nodes gain together, and that waiting pods are paid for besides."""
    moves: int
    """Moves that the nodes' best changes would make."""
    balance: Ints
    """Pods of each kind that they would take in, less those sent away."""
    placed: Ints


class Pricing:
    """Finds what each node gains at most, for any prices.

    A node's best change is bounded by cases. Where at most two pods leave, each such choice is
    looked at: what is free then is filled device by device with the best pods that each fit the
    node, the node's own resource having a price per unit, the best of several for each case. Where
    more leave, their number has a price as well, and who leaves is decided device by device.
    """

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        kinds, leaving = ground.kinds, ground.leaving
        self.useful = kinds.useful
        self.thresholds = np.unique(kinds.node[self.useful])
        self.column = np.searchsorted(self.thresholds, leaving.free, side="right")
        self.units = ground.units
        self.room = np.minimum(leaving.room, self.units)
        asked = kinds.node[self.useful]
        typical = max(1, int(asked[asked > 0].mean())) if (asked > 0).any() else 1
        self.typical = typical
        self.etas: Ints = np.zeros(1, dtype=np.int64)
        self.first = np.searchsorted(leaving.node, np.arange(len(ground.free)))
        self._configurations()

    # -- several pods on devices, for the case of three that leave and more

    def _configurations(self) -> None:
        known: dict[tuple[int, tuple[int, ...]], int] = {}
        self.on_device: list[list[int]] = []
        self.beside: list[list[int]] = []
        for n, pods in enumerate(self.ground.present):
            there: list[list[int]] = [[] for _ in range(self.ground.room.shape[1])]
            beside = []
            for k, devices in pods:
                if devices and self.ground.kinds.devices[k] == len(devices):
                    for d in devices:
                        there[d].append(k)
                else:
                    beside.append(k)
            keys = [(int(self.ground.room[n, d]), tuple(sorted(ks))) for d, ks in enumerate(there)]
            self.on_device.append([known.setdefault(key, len(known)) for key in keys])
            self.beside.append(beside)
        self.configurations = list(known)

    def _several(self, tables: Ints, prices: Prices) -> Ints:
        """Most that each node gains if more pods leave than were looked at one by one."""
        kinds, ground = self.ground.kinds, self.ground
        thetas = np.array([prices.move * t // 8 for t in _THETAS], dtype=np.int64)
        cost = prices.move + prices.pod
        # For leaving: etas x thetas x kinds.
        gain = (
            self.etas[:, None, None] * kinds.node[None, None, :] + thetas[None, :, None]
        ) - cost[None, None, :]
        split = np.maximum(kinds.devices, 1)
        piece = -(-gain // split)
        fill = tables[-1]
        best = np.zeros((len(self.configurations), *gain.shape[:2]), dtype=np.int64)
        for c, (room, ks) in enumerate(self.configurations):
            best[c] = self._device(fill, piece, room, ks)
        total = np.full(len(ground.free), NOTHING, dtype=np.int64)
        for n, configurations in enumerate(self.on_device):
            least = int(ground.most[n]) + 1
            if len(ground.present[n]) < least:
                continue
            value = best[configurations].sum(axis=0)
            value += self.etas[:, None] * ground.free[n] - least * thetas[None, :]
            for k in self.beside[n]:
                value += np.maximum(gain[:, :, k], 0)
            total[n] = value.min()
        return total

    def _device(self, fill: Ints, piece: Ints, room: int, ks: tuple[int, ...]) -> Ints:
        amount, unit = self.ground.kinds.amount, self.ground.unit
        if len(ks) > _MOST_ON_DEVICE:
            value: Ints = fill[:, -1][:, None] + sum(
                (np.maximum(piece[:, :, k], 0) for k in ks), np.zeros(piece.shape[:2], np.int64)
            )
            return value
        best: Ints = np.full(piece.shape[:2], NOTHING, dtype=np.int64)
        for chosen in range(1 << len(ks)):
            leaving = [k for i, k in enumerate(ks) if chosen >> i & 1]
            left = min(self.units, (room + sum(int(amount[k]) for k in leaving)) // unit)
            value = np.repeat(fill[:, left][:, None], piece.shape[1], axis=1)
            for k in leaving:
                value = value + piece[:, :, k]
            best = np.maximum(best, value)
        return best

    # -- all

    def ask(self, prices: Prices) -> Answer:
        """Bound what all nodes gain together by moves and by pods that wait, less what they pay.

        Nobody is paid for taking in pods that need no device, or next to nothing of one: how many
        a node has room for is not counted.

        Raises
        ------
        ValueError
            If prices are so high that tables of 64 bits might not hold their sums.
        """
        kinds, leaving = self.ground.kinds, self.ground.leaving
        self.etas = self._etas(prices)
        pod = np.zeros_like(prices.pod)
        pod[self.useful] = prices.pod[self.useful]
        prices = Prices(prices.move, pod, prices.waiting, prices.worth)
        worth = np.where(kinds.waiting > 0, prices.worth - prices.waiting, 0)
        back = np.where(kinds.running > 0, prices.pod, 0)
        value = np.maximum(np.maximum(worth, back), 0)
        tables, choices = self._tables(value)
        best = np.full(len(leaving.node), 2**62, dtype=np.int64)
        eta = np.zeros(len(best), dtype=np.int64)
        for e, price in enumerate(self.etas.tolist()):
            filled = price * leaving.free
            for d in range(self.room.shape[1]):
                filled += tables[self.column, e, self.room[:, d]]
            better = filled < best
            best[better], eta[better] = filled[better], e
        cost = np.append(prices.move + prices.pod, 0)
        best -= cost[leaving.pods].sum(axis=1)
        few = np.maximum.reduceat(best, self.first)
        many = self._several(tables, prices)
        total = np.maximum(np.maximum(few, many), 0)
        gain = int(total.sum()) + int(prices.waiting @ kinds.waiting)
        return self._slopes(gain, total, few, best, eta, choices, worth >= back)

    def _etas(self, prices: Prices) -> Ints:
        """Prices of the node's resource to try, by what pods are worth."""
        etas = {0}
        if self.ground.limited:
            worth = int(prices.worth.max(initial=1))
            etas |= {worth * 3**i // (self.typical * 2 ** (i + 9)) for i in range(_ETAS)}
        self._check(prices, max(etas))
        return np.array(sorted(etas), dtype=np.int64)

    def _check(self, prices: Prices, highest_eta: int) -> None:
        """Refuse prices whose sums might not fit into 64 bits."""
        ground = self.ground
        each = (prices.pod, prices.waiting, prices.worth)
        highest = max(prices.move, *(int(np.abs(own).max(initial=0)) for own in each))
        devices, pods = ground.room.shape[1], max(map(len, ground.present), default=0)
        node = highest * (2 * (self.units + 1) * devices + 4 * pods + 4)
        resource = highest_eta * (
            int(ground.free.max(initial=0)) + (pods + 2) * int(ground.kinds.node.max(initial=0))
        )
        waiting = highest * int(ground.kinds.waiting.sum())
        if node * len(ground.free) + resource + waiting > LARGEST:
            raise ValueError("multipliers are too large to be worked out")

    def _tables(self, value: Ints) -> tuple[Ints, Ints]:
        """Most that pods on one device with so many units are worth, and the pod to begin with.

        By threshold of the node's resource below which pods are left out, by its price, by units.
        """
        kinds = self.ground.kinds
        pods = self.useful[value[self.useful] > 0]
        form = (len(self.thresholds) + 1, len(self.etas), self.units + 1)
        tables: Ints = np.zeros(form, dtype=np.int64)
        choices: Ints = np.full(form, -1, dtype=np.int64)
        sizes = np.unique(kinds.units[pods])
        # The best pod of each size: by threshold and price.
        worth: Ints = np.zeros((len(sizes), *form[:2]), dtype=np.int64)
        which: Ints = np.full(worth.shape, -1, dtype=np.int64)
        for k in pods.tolist():
            i = int(np.searchsorted(sizes, kinds.units[k]))
            count = int(kinds.devices[k])
            net = -(-int(value[k]) // count) - self.etas * (int(kinds.node[k]) // count)
            t = int(np.searchsorted(self.thresholds, kinds.node[k])) + 1
            better = net[None, :] > worth[i, t:]
            worth[i, t:] = np.where(better, net[None, :], worth[i, t:])
            which[i, t:] = np.where(better, k, which[i, t:])
        for units in range(1, self.units + 1):
            most, choice = tables[:, :, units - 1].copy(), np.full(form[:2], -1, dtype=np.int64)
            for i, size in enumerate(sizes.tolist()):
                if size > units:
                    break
                some = tables[:, :, units - size] + worth[i]
                better = some > most
                most[better], choice[better] = some[better], which[i][better]
            tables[:, :, units], choices[:, :, units] = most, choice
        return tables, choices

    def _slopes(
        self,
        gain: int,
        total: Ints,
        few: Ints,
        best: Ints,
        eta: Ints,
        choices: Ints,
        waits: Mask,
    ) -> Answer:
        """Count what the nodes' best changes move; of those with more pods only the number."""
        kinds, leaving = self.ground.kinds, self.ground.leaving
        moves, (balance, placed) = 0, np.zeros((2, len(kinds.names)), dtype=np.int64)
        for n in np.flatnonzero(total > 0).tolist():
            if few[n] < total[n]:
                moves += int(self.ground.most[n]) + 1
                continue
            end = self.first[n + 1] if n + 1 < len(self.first) else len(best)
            i = int(self.first[n]) + int(best[self.first[n] : end].argmax())
            for k in leaving.pods[i].tolist():
                if k >= 0:
                    moves += 1
                    balance[k] -= 1
            column = choices[self.column[i], eta[i]]
            for units in self.room[i].tolist():
                while units > 0:
                    k = int(column[units])
                    if k < 0:
                        units -= 1
                        continue
                    counted = placed if waits[k] else balance
                    counted[k] += 1
                    units -= int(kinds.units[k])
        return Answer(gain, moves, balance, placed)
