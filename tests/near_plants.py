"""Small conflicts about whom pods must be near, for random questions."""

from __future__ import annotations

from tests.drafts import HOST, Document, Draft


def plant_affinity(d: Draft) -> bool:
    """Pods that would rather be where none is that they must be near."""
    nodes = d.pick(2)
    if not nodes:
        return False
    near, far = nodes
    key = d.rng.choice((HOST, "topology/rack"))
    shape = d.rng.randint(0, 3)
    if shape == 0:  # one that runs, and may have to go or to move
        other = d.run([near], d.ask(), preemptible=d.chance(30))
        job = d.wait([far], d.ask(), confined=d.chance(40))
    elif shape == 1:  # one that waits as well
        other = d.wait([near], d.ask(), confined=True, room=d.chance(70))
        job = d.wait([far], d.ask(), confined=d.chance(40))
    elif shape == 2:  # its own like: the first of them chooses
        other = job = d.wait([near, far], d.ask(), minCount=d.rng.choice((0, 0, 2)))
    else:  # two that wait for each other, or may be the first for each other
        other = d.wait([near], d.ask(), confined=d.chance(40))
        job = d.wait([far], d.ask(), confined=d.chance(40))
        back: Document = {"matchLabels": job["podSets"][0]["labels"]}
        if d.chance(50):
            back = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
        other["podSets"][0]["podAffinity"] = [{"topologyKey": key, "labelSelector": back}]
    selector = {"matchLabels": other["podSets"][0]["labels"]}
    terms: list[Document] = [{"topologyKey": key, "labelSelector": selector}]
    if d.chance(20):
        terms.append({"topologyKey": HOST, "labelSelector": {}})
    job["podSets"][0]["podAffinity"] = terms
    return True
