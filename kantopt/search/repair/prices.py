"""What each node could gain at best at given prices of moves and of pods: exact arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kantopt.search.repair.ground import Ground
from kantopt.search.shapes import Ints, Mask

BITS = 10
"""Prices are in units of ``2 ** -BITS`` of a tier's unit."""
_ETAS = 16
_THETAS = (0, 1, 2, 4, 8, 16)
"""Prices of the number of pods that leave, in eighths of the price of a move."""
_MOST_ON_DEVICE = 8
NOTHING = -(2**60)


@dataclass(frozen=True, slots=True)
class Prices:
    """Integers: of a move (not negative), of each kind's pods, of each kind's waiting pods.

    A node is paid ``pod`` for taking in a running pod of a kind and pays it, and ``move``, for
    sending one away; a pod that waits is worth what it counts less ``waiting`` (not negative).
    """

    move: int
    pod: Ints
    waiting: Ints


@dataclass(frozen=True, slots=True)
class Answer:
    """Bound on the gain, in units of prices, and how the prices would have to change."""

    bound: int
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
        self.useful = np.flatnonzero((kinds.devices > 0) & (kinds.units > 0))
        self.thresholds = np.unique(kinds.node[self.useful])
        self.column = np.searchsorted(self.thresholds, leaving.free, side="right")
        self.units = ground.units
        self.room = np.minimum(leaving.room, self.units)
        asked = kinds.node[self.useful]
        typical = max(1, int(asked[asked > 0].mean())) if (asked > 0).any() else 1
        worth = int(kinds.worth.max(initial=1)) << BITS
        etas = [0]
        if ground.limited:
            etas += [worth * 3**i // (typical * 2 ** (i + 9)) for i in range(_ETAS)]
        self.etas: Ints = np.array(sorted(set(etas)), dtype=np.int64)
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

    def ask(self, prices: Prices, moves: int) -> Answer:
        """Bound the gain of all plans with at most so many moves.

        Nobody is paid for taking in pods that need no device, or next to nothing of one: how many
        a node has room for is not counted.
        """
        kinds, leaving = self.ground.kinds, self.ground.leaving
        pod = np.minimum(prices.pod, 0)
        pod[self.useful] = prices.pod[self.useful]
        prices = Prices(prices.move, pod, prices.waiting)
        worth = np.where(kinds.waiting > 0, (kinds.worth << BITS) - prices.waiting, 0)
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
        bound = moves * prices.move + int(total.sum()) + int(prices.waiting @ kinds.waiting)
        answer = Answer(bound, 0, np.zeros_like(prices.pod), np.zeros_like(prices.pod))
        return self._slopes(answer, total, few, best, eta, choices, worth >= back)

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
        answer: Answer,
        total: Ints,
        few: Ints,
        best: Ints,
        eta: Ints,
        choices: Ints,
        waits: Mask,
    ) -> Answer:
        """Count what the nodes' best changes move; of those with more pods only the number."""
        kinds, leaving = self.ground.kinds, self.ground.leaving
        moves = 0
        for n in np.flatnonzero(total > 0).tolist():
            if few[n] < total[n]:
                moves += int(self.ground.most[n]) + 1
                continue
            end = self.first[n + 1] if n + 1 < len(self.first) else len(best)
            i = int(self.first[n]) + int(best[self.first[n] : end].argmax())
            for k in leaving.pods[i].tolist():
                if k >= 0:
                    moves += 1
                    answer.balance[k] -= 1
            column = choices[self.column[i], eta[i]]
            for units in self.room[i].tolist():
                while units > 0:
                    k = int(column[units])
                    if k < 0:
                        units -= 1
                        continue
                    counted = answer.placed if waits[k] else answer.balance
                    counted[k] += 1
                    units -= int(kinds.units[k])
        return Answer(answer.bound, moves, answer.balance, answer.placed)
