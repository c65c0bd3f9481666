"""Wishes of pods for random questions: labels and taints, company, distance, an even spread."""

from __future__ import annotations

import random

from tests.drafts import HOST, Draft

KEYS = (HOST, "topology/rack")


def wish(d: Draft) -> None:
    """Have some jobs of a draft wish something; draws nothing from the draft."""
    jobs = [*d.running, *d.pending]
    rng = random.Random(" ".join(str(job["podSets"]) for job in jobs))
    if rng.random() < 0.3:
        node = rng.choice(d.nodes)
        taint = {"key": "slow", "effect": "PreferNoSchedule"}
        node.setdefault("taints", []).append(taint)
    for job in jobs:
        podset = job["podSets"][0]
        if rng.random() < 0.2:
            value = rng.choice(("a", "b", "1"))
            expression = {"key": "topology/rack", "operator": "In", "values": [value]}
            term = {"weight": rng.choice((1, 30)), "preference": {"matchExpressions": [expression]}}
            podset["preferredNodeAffinity"] = [term]
        other = rng.choice(jobs)["podSets"][0]["labels"]
        for field in ("preferredPodAffinity", "preferredPodAntiAffinity"):
            if rng.random() < 0.15:
                selector = {"matchLabels": other}
                term = {"topologyKey": rng.choice(KEYS), "labelSelector": selector, "weight": 10}
                podset[field] = [term]
        if rng.random() < 0.1:
            podset["preferredTopologySpread"] = [
                {
                    "maxSkew": 1,
                    "topologyKey": rng.choice(KEYS),
                    "labelSelector": {"matchLabels": podset["labels"]},
                }
            ]
