"""What hangs together both ways in a graph (Tarjan 1972)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def strong_components(onward: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the sets of nodes that each reach all others of their set, each set sorted.

    Without recursion, since a way may be longer than Python calls deep, and without a library for
    graphs, which takes longer to load than most plans take to order.

    Parameters
    ----------
    onward
        The nodes that each node leads to.
    """
    number = [-1] * len(onward)
    lowest = [0] * len(onward)
    left: list[Iterator[int]] = [iter(heads) for heads in onward]
    open_nodes: list[int] = []
    is_open = [False] * len(onward)
    found: list[list[int]] = []
    numbered = 0
    for root in range(len(onward)):
        way = [root] if number[root] < 0 else []
        while way:
            node = way[-1]
            if number[node] < 0:
                number[node] = lowest[node] = numbered
                numbered += 1
                open_nodes.append(node)
                is_open[node] = True
            head = next(left[node], None)
            if head is None:
                way.pop()
                if way:
                    lowest[way[-1]] = min(lowest[way[-1]], lowest[node])
                if lowest[node] == number[node]:
                    part: list[int] = []
                    while is_open[node]:
                        part.append(open_nodes.pop())
                        is_open[part[-1]] = False
                    found.append(sorted(part))
            elif number[head] < 0:
                way.append(head)
            elif is_open[head]:
                lowest[node] = min(lowest[node], number[head])
    return found
