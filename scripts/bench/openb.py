"""GPU sharing at the scale of a cluster: the openb trace (FGD, ATC'23), offline and as a repair.

``offline`` plans the whole default pod list from an empty cluster; that is not comparable with
online figures. ``repair-*`` starts from what a scheduler left behind at 130 % load and may only
move some of what runs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kantopt.errors import UsageError
from kantopt.planning.convert import convert
from kantopt.schema.base import API_VERSION, Metadata
from kantopt.schema.model import Limits, Model, Objective
from kantopt.schema.objectives import TotalObjective, UnplacedObjective
from scripts.bench.case import Case, Documents
from scripts.bench.models import MakeModel

SUITE = "openb"
MODELS = ("moves-0.5", "moves-1", "moves-2")
NODES = "openb_node_list_gpu_node.csv"
PODS = "openb_pod_list_default.csv"


def cases(data: Path) -> list[Case]:
    """List the instances; all read the same nodes."""
    folder = data / SUITE
    parameters = {"nodes": "1213"}
    offline = Case(SUITE, "offline-default", 0, parameters, _reader(folder, PODS), one_model=True)
    found = [offline]  # nothing runs, so no limit of moves says anything
    for scheduler in ("fgd", "bestfit"):
        file = f"{scheduler}_default_t1.3_s42_placement.csv"
        found.append(Case(SUITE, f"repair-{scheduler}", 42, parameters, _reader(folder, file)))
    return found


def _reader(folder: Path, file: str) -> Callable[[], Documents]:
    def read() -> Documents:
        read = convert("openb", [str(folder / NODES), str(folder / file)])
        return Documents(read.snapshot, read.pending.jobs)

    return read


def model(name: str) -> MakeModel:
    """Return the model ``moves-P``: GPUs placed, then moves; no evictions, P % of what runs moves.

    Raises
    ------
    UsageError
        If the name is another one.
    """
    try:
        percent = float(name.removeprefix("moves-")) if name.startswith("moves-") else -1.0
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise UsageError(f"--models: found {name}, expected moves-P, such as {MODELS[0]}")

    def made(documents: Documents) -> Model:
        running = sum(running for _, running in documents.pods_by_priority().values())
        return Model(
            api_version=API_VERSION,
            kind="Model",
            metadata=Metadata(name=name),
            objectives=(
                Objective(unplaced=UnplacedObjective(by="all", unit="gpu")),
                Objective(moves=TotalObjective()),
            ),
            limits=Limits(evictions=0, moves=int(percent * running / 100)),
        )

    return made
