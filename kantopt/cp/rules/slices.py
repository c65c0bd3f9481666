"""R6 slices."""

from __future__ import annotations

from kantopt.cp.rules.topology import domain_pods, forbid_outside
from kantopt.cp.variables import Variables, weighted
from kantopt.verify.rules.topology import domains_used


def add_slices(m: Variables) -> None:
    """Each domain of the slice level holds whole slices of pods.

    A domain that holds a broken slice as it stands may be left as it is.
    """
    for need in m.instance.topology_needs:
        level, size = need.slice_level, need.slice_size
        if level is None:
            continue
        m.about("need", need.index)
        forbid_outside(m, need, level)
        before = domains_used(m.instance, need, level, m.instance.current.podsets)
        for domain, (terms, most) in domain_pods(m, need, level).items():
            if domain is None:
                continue
            key = f"slices[{need.index},{domain}]"
            slices = m.cp.new_int_var(0, most // size, key)
            whole = m.cp.add(weighted(terms) == size * slices)
            standing = before.get(domain, 0)
            if standing % size:
                changed = m.cp.new_bool_var(f"changed[{key}]")
                whole.only_enforce_if(changed)
                m.cp.add(weighted(terms) == standing).only_enforce_if(~changed)
