"""Free 16-core slots by a bounded number of moves: the snapshot of VM2RL (EuroSys'25).

The file holds two clusters. The published figures allow moves between them; ``walled`` keeps each
VM in its own.
"""

from __future__ import annotations

from pathlib import Path

from kantopt.bench.case import Case, Documents
from kantopt.bench.models import MakeModel
from kantopt.errors import UsageError
from kantopt.planning.convert import convert
from kantopt.schema.base import API_VERSION, Metadata
from kantopt.schema.jobs import Job
from kantopt.schema.model import FragmentObjective, Limits, Model, Objective, TotalObjective

SUITE = "vm-rescheduling"
MODELS = tuple(f"mnl-{moves}" for moves in (10, 25, 50, 75, 100, 150, 200))
SLOT_CPUS = 16
FILE = "reset_vm_pm_id_clear2.json"

OPTIMAL_SLOTS = {10: 13, 25: 24, 50: 37, 75: 50, 100: 62, 150: 78, 200: 87}
"""Most free slots by moves at most, moves between the clusters allowed; proved by two solvers on
exact count models (CP-SAT and HiGHS). The ceiling is 87."""
START_SLOTS = 2


def cases(data: Path) -> list[Case]:
    """List the snapshot as it is, and with a wall between its clusters."""
    path = data / "vm_rescheduling" / FILE
    parameters = {"nodes": "279"}

    def read() -> Documents:
        return documents(path)

    def read_walled() -> Documents:
        return walled(read())

    return [
        Case(SUITE, "snapshot", 0, parameters, read, for_pending=False),
        Case(SUITE, "walled", 0, parameters, read_walled, for_pending=False),
    ]


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
    """Return the model ``mnl-N``: free slots of 16 cores per zone, then moves, at most N moves.

    Raises
    ------
    UsageError
        If the name is another one.
    """
    number = name.removeprefix("mnl-")
    if not name.startswith("mnl-") or not number.isdecimal():
        raise UsageError(f"--models: found {name}, expected mnl-N, such as {MODELS[0]}")
    slots = FragmentObjective(resource="cpu", size=SLOT_CPUS, device_class="numa")
    made = Model(
        api_version=API_VERSION,
        kind="Model",
        metadata=Metadata(name=name),
        objectives=(Objective(fragment_rate=slots), Objective(moves=TotalObjective())),
        limits=Limits(evictions=0, moves=int(number)),
    )
    return lambda _: made
