"""Nodes that changed: a list that may forget its beginning, and never tells too few."""

from __future__ import annotations

import random

from kantopt.search.touched import Touched


def test_what_is_forgotten_is_told_as_all_nodes_and_the_rest_as_it_was() -> None:
    rng, nodes = random.Random(1), 3
    touched, whole = Touched(nodes), list[int]()
    forgotten = 0
    for _ in range(4000):
        new = [rng.randrange(nodes) for _ in range(rng.randint(0, 3))]
        touched += new
        whole += new
        if new:
            touched.append(new[0])
            whole.append(new[0])
        touched.forget()
        assert len(touched) == len(whole)
        since = rng.randint(max(0, len(whole) - 50), len(whole))
        found, true = touched[since:], whole[since:]
        assert set(true) <= set(found)
        assert found in (true, list(range(nodes)))
        forgotten += found != true
    assert forgotten
    assert touched[len(touched) :] == []
    assert touched[0:0] == []
    assert touched[0:5] == list(range(nodes))
