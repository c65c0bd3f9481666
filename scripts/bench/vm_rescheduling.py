"""Free 16-core slots by a bounded number of moves: the snapshot of VM2RL (EuroSys'25).

The file holds two clusters. The published figures allow moves between them; ``walled`` keeps each
VM in its own. ``generated`` is a larger cluster of our own making, see :mod:`.vm_cluster`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from kantopt.errors import UsageError
from kantopt.planning.convert import convert
from kantopt.planning.defrag import Wish, asked
from kantopt.planning.question import Question
from kantopt.schema.base import API_VERSION, Metadata
from kantopt.schema.jobs import Job
from kantopt.schema.model import Limits, Model, Objective
from kantopt.schema.objectives import FragmentObjective, TotalObjective
from scripts.bench.case import Case, Documents
from scripts.bench.models import MakeModel
from scripts.bench.vm_cluster import MACHINES, vm_cluster
from scripts.bench.vm_greedy import slots_by_moves, zones_of

SUITE = "vm-rescheduling"
MODELS = tuple(f"mnl-{moves}" for moves in (10, 25, 50, 75, 100, 150, 200))
SLOT_CPUS = 16
FILE = "reset_vm_pm_id_clear2.json"

OPTIMAL_SLOTS = {10: 13, 25: 24, 50: 37, 75: 50, 100: 62, 150: 78, 200: 87}
"""Most free slots by moves at most, moves between the clusters allowed; proved by two solvers on
exact count models (CP-SAT and HiGHS). The ceiling is 87."""
SNAPSHOT_NODES = 279
GREEDY = "greedy"
"""Name of the parameter with the slots that the greedy heuristic makes."""
GENERATED = range(3)
"""Seeds of the generated clusters."""


def cases(data: Path, nodes: Sequence[int] = ()) -> list[Case]:
    """List the snapshot and generated clusters, as they are and with a wall between clusters.

    Parameters
    ----------
    data
        Folder of the third-party data.
    nodes
        Sizes to list, of 279 and 1176; none for all.
    """
    path = data / "vm_rescheduling" / FILE
    sources = [(SNAPSHOT_NODES, "snapshot", 0, partial(documents, path))]
    sources += [(MACHINES, "generated", seed, partial(generated, seed)) for seed in GENERATED]
    found = []
    for size, name, seed, make in sources:
        if nodes and size not in nodes:
            continue
        walls = "walled" if name == "snapshot" else f"{name}-walled"
        for instance, maker in ((name, make), (walls, partial(_walled, make))):
            parameters = {"nodes": str(size)}
            told = partial(_with_greedy, maker)
            found.append(Case(SUITE, instance, seed, parameters, told, for_pending=False))
    return found


def _with_greedy(make: Callable[[], Documents]) -> Documents:
    """Tell also how many slots there are at first, and after each move of the heuristic."""
    made = make()
    slots = slots_by_moves(zones_of(made.snapshot))
    return replace(made, facts={GREEDY: "/".join(map(str, slots))})


def generated(seed: int) -> Documents:
    """Make a generated cluster."""
    return Documents(vm_cluster(seed))


def _walled(make: Callable[[], Documents]) -> Documents:
    return walled(make())


def documents(path: Path) -> Documents:
    """Read the snapshot."""
    read = convert("vm-rescheduling", [str(path)])
    return Documents(read.snapshot, read.pending.jobs)


def walled(made: Documents) -> Documents:
    """Bind each VM to the cluster that it runs in."""
    cluster = {node.name: node.labels["cluster"] for node in made.snapshot.nodes}

    def bound(job: Job) -> Job:
        podset = job.pod_sets[0]
        home = {"cluster": cluster[podset.assignments[0].node]}
        return job.model_copy(
            update={"pod_sets": (podset.model_copy(update={"node_selector": home}),)}
        )

    jobs = tuple(bound(job) for job in made.snapshot.jobs)
    return Documents(made.snapshot.model_copy(update={"jobs": jobs}), made.pending)


def model(name: str) -> MakeModel:
    """Return the model ``mnl-N`` or the model ``slots-N``; slots are of 16 cores on one zone.

    ``mnl-N``: most slots, then fewest moves, at most N moves. ``slots-N``: the fewest moves that
    make N slots.

    Raises
    ------
    UsageError
        If the name is another one.
    """
    kind, _, number = name.partition("-")
    if kind not in ("mnl", "slots") or not number.isdecimal():
        expected = f"mnl-N or slots-N, such as {MODELS[0]}"
        raise UsageError(f"--models: found {name}, expected {expected}")
    if kind == "slots":
        return partial(_fewest_moves, name, f"fragment-rate=cpu:{SLOT_CPUS}/numa:{number}")
    slots = FragmentObjective(resource="cpu", size=SLOT_CPUS, device_class="numa")
    made = Model(
        api_version=API_VERSION,
        kind="Model",
        metadata=Metadata(name=name),
        objectives=(Objective(fragment_rate=slots), Objective(moves=TotalObjective())),
        limits=Limits(evictions=0, moves=int(number)),
    )
    return lambda _: made


def _fewest_moves(name: str, goal: str, made: Documents) -> Model:
    """The model that reaches a goal with the fewest moves."""
    question = Question(name, made.snapshot, made.pending, None, None, ())
    found = asked(question, Wish(goals=(goal,))).model
    return found.model_copy(update={"metadata": Metadata(name=name)})
