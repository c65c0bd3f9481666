"""Tiny clusters of gangs that must be close, with budgets and turns, and what to tidy up there."""

from __future__ import annotations

import random

from kantopt.planning.defrag import Wish
from kantopt.planning.question import Question
from kantopt.schema.extends import load_model
from kantopt.schema.model import Limits
from tests.generate import rules_off
from tests.questions import question
from tests.verify.world import GPU, Document, job, node, pods

ROOM, CPU = 4, 9
GOALS = (
    "empty-nodes",
    "empty-nodes=+1",
    "empty-nodes,class=cpu",
    "empty-domain=rack:1",
    "empty-domain=block:+1",
    f"fragment-rate={GPU}:2:+1",
    f"fragment-rate={GPU}:4",
    "fragment-rate=cpu:4:+1",
    "stranded-gpus=0",
    "drain=n0",
    "drain=n1,n2",
    "fit=*",
    "fit=*",
)
LIMITED = ("moves", "movesPerJob", "movesPerNamespace", "arrivalsPerNode", "departuresPerNode")
TAINT = {"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}
STATES: tuple[Document, ...] = ({"unschedulable": True}, {"ready": False}, {"taints": [TAINT]})


def close_gangs(seed: int) -> tuple[Question, Wish]:
    """Return a cluster and a wish, under half of the seeds with rules off; the same for a seed."""
    rng = random.Random(f"close {seed}")
    nodes = [
        node(
            f"n{n}",
            cpu=CPU,
            gpu=ROOM,
            rack=f"b{n % 2}/r{n // 2}",
            **(rng.choice(STATES) if rng.random() < 0.2 else {}),
        )
        for n in range(rng.choice((3, 4, 4, 5)))
    ]
    room = {each["name"]: [ROOM, CPU] for each in nodes}
    running: list[Document] = []
    waiting: list[Document] = []
    budgets: list[Document] = []
    for j in range(rng.choice((2, 3, 3, 4))):
        made = _gang(rng, f"j{j}", nodes, room)
        runs = bool(made["podSets"][0]["assignments"])
        (running if runs else waiting).append(made)
        if runs and rng.random() < 0.3:
            selector = {"matchLabels": {"job": f"j{j}"}}
            allowed = rng.choice((0, 1, 1, 2))
            budgets.append({"name": f"b{j}", "selector": selector, "disruptionsAllowed": allowed})
    levels = [{"name": name, "nodeLabel": name} for name in ("block", "rack")]
    asked = question(
        nodes, running, waiting, topology={"levels": levels}, podDisruptionBudgets=budgets
    )
    goals = [goal for goal in GOALS if waiting or not goal.startswith("fit")]
    limits: Document = {name: rng.choice((0, 1, 1, 2)) for name in LIMITED if rng.random() < 0.15}
    if rng.random() < 0.35:
        limits["evictions"] = rng.choice((0, 1, 2, 5))
    if rng.random() < 0.2:
        limits["movesPerWave"] = 1
    model = load_model("defrag")
    off = {rule.value: "off" for rule in rules_off(seed) if rule.value in model.rules.model_dump()}
    if seed % 2:
        model = model.model_copy(update={"rules": model.rules.model_copy(update=off)})
    return asked, Wish((rng.choice(goals),), model, Limits.model_validate(limits))


def _gang(
    rng: random.Random, name: str, nodes: list[Document], room: dict[str, list[int]]
) -> Document:
    """A job that runs with all its pods, if these have room near each other, or waits."""
    count, gpu, cpu = rng.choice((1, 1, 2, 2, 3)), rng.choice((0, 1, 1, 2)), rng.choice((1, 2, 3))
    level = rng.choice((None, None, "rack", "block")) if count > 1 else None
    near = rng.choice(nodes)["labels"]
    wide = ("block", "rack")[: {None: 0, "block": 1, "rack": 2}[level]]
    places = [x["name"] for x in nodes if all(x["labels"][key] == near[key] for key in wide)]
    on: list[str] = []
    for _ in range(count if rng.random() < 0.8 else 0):
        able = [x for x in places if room[x][0] >= gpu and room[x][1] >= cpu]
        if able:
            on.append(rng.choice(able))
            room[on[-1]][0] -= gpu
            room[on[-1]][1] -= cpu
    podset = pods(count=len(on) or count, cpu=cpu, gpu=gpu, on=on)
    request = {"required": level, "preferred": "rack" if rng.random() < 0.2 else None}
    podset["topologyRequest"] = {key: value for key, value in request.items() if value} or None
    if len(on) > 1 and rng.random() < 0.5:
        podset["minCount"] = rng.choice((0, 1))
    more: Document = {"priority": rng.choice((0, 0, 1, 5))}
    more["moveMode"] = rng.choice(("live", "restart"))
    for field, value, share in (
        ("maxMovesAtOnce", 1, 0.2),
        ("disruptionMode", "all", 0.15),
        ("movable", False, 0.15),
        ("preemptible", False, 0.15),
        ("maxMoves", 1, 0.15),
        ("namespace", "other", 0.15),
    ):
        if rng.random() < share:
            more[field] = value
    if on and rng.random() < 0.1:
        more["daemon"] = True
    return job(name, podset, **more)
