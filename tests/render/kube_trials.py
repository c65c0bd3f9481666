"""A script on a small cluster, with something going wrong, and run again: is all as promised?"""

from __future__ import annotations

import random
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kantopt.errors import UsageError
from kantopt.render.kube.fates import Fates
from kantopt.render.kube.gates import OURS
from kantopt.render.kubectl import render
from kantopt.render.targets import Asked
from kantopt.schema.answers.actions import in_waves
from kantopt.schema.answers.plan import Binding, Eviction, Move, Plan
from tests.render.api_cluster import Cluster, RefusedError
from tests.render.api_server import Fault, no_meddling, serving
from tests.render.api_server import Meddler as Meddling
from tests.render.kube_worlds import drawn
from tests.render.kubectls import quick_kubectl

FAULTS = (
    "none",
    "429",
    "conflict",
    "changed",
    "recreated",
    "never ready",
    "lost before",
    "lost after",
    "ended",
    "killed",
)
"""What goes wrong in the first run; in the second nothing does, but what is wrong for good."""
QUICK = {
    "KANTOPT_POLL": "0.01",
    "KANTOPT_MARGIN": "3",
    "KANTOPT_READY": "2",
    "KANTOPT_RETRY": "20",
    "KANTOPT_MAX_AGE": "0",
}


_LIMITS = ("KANTOPT_MARGIN", "KANTOPT_READY", "KANTOPT_RETRY")
"""Of these the seconds in which something has to happen."""
_LONGEST = 120
"""Seconds that a script may take."""


@dataclass
class Ran:
    """How a script ended."""

    code: int
    out: str
    err: str


@dataclass
class Trial:
    """What became of one."""

    fault: str
    codes: tuple[int, ...] = ()
    requests: int = 0
    wrong: list[str] = field(default_factory=list)


def run_script(
    script: Path, config: Path, *options: str, patience: int = 1, **environment: str
) -> Ran:
    """Run a script with the ``kubectl`` of the path, quickly; ``patience``: limits times that."""
    done = subprocess.run(
        ["/bin/sh", str(script), *options],
        env=_environment(config, patience, environment),
        capture_output=True,
        text=True,
        timeout=_LONGEST * patience,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def carried_out(
    folder: Path,
    made: Cluster,
    plan: Plan,
    *options: str,
    asked: Asked = Asked(shell=True),  # noqa: B008
    meddler: Meddling = no_meddling,
    **environment: str,
) -> Ran:
    """Render a plan as a script, and run it on a cluster."""
    path = folder / "plan.sh"
    path.write_text(render(plan, asked).text, encoding="utf-8")
    with serving(made, folder, meddler) as config:
        return run_script(path, config, *options, **environment)


def _environment(config: Path, patience: int, more: dict[str, str]) -> dict[str, str]:
    home = {"KUBECONFIG": str(config), "HOME": str(config.parent)}
    limits = {name: str(int(QUICK[name]) * patience) for name in _LIMITS}
    return {**quick_kubectl(config.parent), **home, **QUICK, **limits, **more}


class Meddler:
    """Has something go wrong at one of the requests that change something."""

    def __init__(self, fault: str, rng: random.Random) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.seen = 0
        self._fault = fault
        self._at = rng.randint(1, 4)

    def __call__(self, cluster: Cluster, method: str, path: str) -> Fault:
        """Decide about one request."""
        self.seen += 1
        repeated = self._fault in ("429", "conflict") and self.seen == self._at + 1
        if self.seen != self._at and not repeated:
            return None
        match self._fault:
            case "429":
                return "429"
            case "conflict":
                return "409"
            case "lost before":
                return "drop"
            case "lost after":
                return "drop-after"
            case "changed" | "recreated":
                self._meddle(cluster, path)
            case "ended" | "killed":
                assert self.process is not None
                ending = signal.SIGKILL if self._fault == "killed" else signal.SIGTERM
                self.process.send_signal(ending)
        return None

    def _meddle(self, cluster: Cluster, path: str) -> None:
        parts = path.split("/")
        if parts[3] == "nodes":
            cluster.touch(cluster.nodes[parts[4]])
            return
        try:
            pod = cluster.by_name(parts[4], parts[6])
        except RefusedError:
            return
        if self._fault == "changed":
            cluster.touch(pod)
        else:
            cluster.recreate(pod["metadata"]["uid"])


def trial(seed: int, folder: Path, patience: int = 1) -> Trial:
    """Plan a cluster, carry the plan out with a fault, and again without.

    Parameters
    ----------
    seed
        Of the cluster, its plan and the fault.
    folder
        For the script and where it finds the API server.
    patience
        How many times as long scripts wait: where ``kubectl`` takes seconds, nothing is in time.
    """
    rng = random.Random(f"fault {seed}")
    world, plan = drawn(seed)
    found = Trial(FAULTS[seed % len(FAULTS)])
    asked = Asked(shell=True)
    try:
        text = render(plan, asked).text
    except UsageError:
        asked = Asked(shell=True, evict_anyway=True)
        text = render(plan, asked).text
    if plan.moves and rng.random() < 0.7:
        asked = Asked(shell=True, evict_anyway=True)
        text = render(plan, asked).text
    script = folder / "plan.sh"
    script.write_text(text, encoding="utf-8")
    fates = Fates(plan, asked)
    for move in plan.moves:
        if rng.random() < 0.8:
            world.prefers.setdefault(move.pods[0].owner_uid, []).append(move.to_node)
    world.binds_at_once = rng.random() < 0.5
    if found.fault == "never ready":
        world.never_ready = {pod.owner_uid for _, item in in_waves(plan) for pod in item.pods}
    meddler = Meddler(found.fault, rng)
    with serving(world, folder, meddler) as config:
        process = subprocess.Popen(
            ["/bin/sh", str(script)],
            env=_environment(config, patience, {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        meddler.process = process
        out, err = process.communicate(timeout=_LONGEST * patience)
    first = Ran(process.returncode, out, err)
    killed = first.code == -signal.SIGKILL
    found.wrong += [f"first run: {w}" for w in faults_of(world, plan, fates, first, killed=killed)]
    with serving(world, folder, no_meddling) as config:
        again = run_script(script, config, patience=patience)
    found.wrong += [f"second run: {w}" for w in faults_of(world, plan, fates, again)]
    found.codes, found.requests = (first.code, again.code), len(world.done)
    return found


def faults_of(
    world: Cluster, plan: Plan, fates: Fates, ran: Ran, *, killed: bool = False
) -> Iterator[str]:
    """Find what is not as promised after a run."""
    if killed:
        yield from _beyond(world, plan, fates)
        return
    if ran.code not in (0, 1, 3):
        yield f"ends with {ran.code}: {ran.err[-300:]}"
    if ran.code and not any(word in ran.err for word in ("STOPPED", "REFUSED", "STILL CORDONED")):
        yield f"does not say why it ends with {ran.code}"
    if world.cordoned():
        yield f"leaves {sorted(world.cordoned())} cordoned: {ran.err[-300:]}"
    yield from _beyond(world, plan, fates)
    if ran.code == 0:
        for _, item in in_waves(plan):
            if fates[item.id].does == "do" and not all(_is_done(world, item, p) for p in item.pods):
                yield f"says that all is done, and {item.id} is not"


def _beyond(world: Cluster, plan: Plan, fates: Fates) -> Iterator[str]:
    """Find what was done and is not in the plan, or before what comes first."""
    waves: dict[tuple[str, ...], int] = {}
    order = {wave.id: i for i, wave in enumerate(plan.waves)}
    hosts = {node.name: node.hostname for node in plan.nodes}
    done = [(w, item) for w, item in in_waves(plan) if fates[item.id].does == "do"]
    for wave, item in done:
        for pod in item.pods:
            if isinstance(item, Binding):
                waves["pin", pod.uid, hosts[item.node]] = order[wave]
                waves |= {("gate", pod.uid, g): order[wave] for g in (OURS,)}
            else:
                waves["evict", pod.uid] = order[wave]
    latest = -1
    left = {item.from_node for _, item in done if isinstance(item, Move)}
    left |= {item.node for _, item in done if isinstance(item, Eviction)}
    for entry in world.done:
        if entry[0] in ("cordon", "uncordon"):
            if entry[1] not in left:
                yield f"{entry} is not in the plan"
            continue
        if entry not in waves:
            yield f"{entry} is not in the plan"
            continue
        if waves[entry] < latest:
            yield f"{entry} comes after what waits for it"
        latest = max(latest, waves[entry])
    for wave, item in done:
        if order[wave] < latest and not all(_is_done(world, item, pod) for pod in item.pods):
            yield f"a later wave has begun, and {item.id} of wave {wave} is not done"


def _is_done(world: Cluster, item: Any, pod: Any) -> bool:
    there = world.pods.get(pod.uid)
    if isinstance(item, Binding):
        return there is None or there["spec"].get("nodeName") == item.node
    return there is None
