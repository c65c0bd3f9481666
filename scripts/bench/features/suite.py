"""Instances of other suites, each with one feature more, and as it is beside each of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from kantopt.errors import UsageError
from kantopt.schema.hints import named
from scripts.bench import gangs, openb, priority_matters, vm_rescheduling
from scripts.bench.case import Case, Documents
from scripts.bench.features.stated import NotHereError, Stated, own_model, stated_by
from scripts.bench.features.table import CONTROL, FEATURES, Feature
from scripts.bench.grid import Grid, seeds_of
from scripts.bench.models import MakeModel, shipped

SUITE = "features"
OWN = "own"
"""Name of the models: those of the suites that instances are of, with what features change."""
BASE, FEATURE, RUN = "base", "feature", "run"
"""Parameters of rows: the suite that the instance is of, the feature, and which run it is."""
PLAIN, FEATURED = "plain", "featured"


@dataclass(frozen=True, slots=True)
class Base:
    """A suite to whose instances features are added: small ones unless others are asked for."""

    cases: Callable[[Grid], list[Case]] = field(repr=False)
    model: MakeModel = field(repr=False)
    needs_data: bool = False


def _packing(grid: Grid) -> list[Case]:
    return priority_matters.cases(
        grid.nodes or (32,),
        grid.pods_per_node or (8,),
        grid.priorities or (4,),
        grid.usage_percent or (95, 100),
        seeds_of(grid.seeds, grid.data),
    )


def _gangs(grid: Grid) -> list[Case]:
    """Lingjun with data, and a small cluster; not the racks, which have nothing that these lack."""
    seeds = seeds_of(grid.seeds, grid.data)
    found = gangs.cases(grid.nodes or (100,), grid.usage_percent, seeds, grid.data)
    if grid.nodes:
        return [case for case in found if int(case.parameters["nodes"]) in grid.nodes]
    return [case for case in found if case.parameters["kind"] != "nvl72"]


def _openb(grid: Grid) -> list[Case]:
    assert grid.data is not None
    found = [case for case in openb.cases(grid.data) if case.instance == "repair-fgd"]
    return [c for c in found if not grid.nodes or int(c.parameters["nodes"]) in grid.nodes]


def _slots(grid: Grid) -> list[Case]:
    assert grid.data is not None
    found = vm_rescheduling.cases(grid.data, grid.nodes or (vm_rescheduling.SNAPSHOT_NODES,))
    return [case for case in found if not case.instance.endswith("walled")]


BASES = {
    priority_matters.SUITE: Base(_packing, shipped("placement-first", counts=True)),
    gangs.SUITE: Base(_gangs, shipped("training", counts=False)),
    openb.SUITE: Base(_openb, openb.model("moves-0.5"), needs_data=True),
    vm_rescheduling.SUITE: Base(_slots, vm_rescheduling.model("mnl-25"), needs_data=True),
}


def left_out(grid: Grid) -> list[str]:
    """Suites that nobody has asked for by name and that are left out for want of data."""
    if grid.of or grid.data is not None:
        return []
    return [name for name, base in BASES.items() if base.needs_data]


def cases(grid: Grid) -> list[Case]:
    """List pairs of cases: an instance as it is, and with a feature, in turns the first of both.

    A feature that could bind somebody in an instance, or adds nothing to it, is left out there.

    Raises
    ------
    UsageError
        If a suite or a feature is none, or a suite needs data.
    """
    chosen = [FEATURES[name] for name in chosen_names("--feature", grid.features, list(FEATURES))]
    found = []
    for name in _suites(grid):
        if BASES[name].needs_data and grid.data is None:
            raise UsageError(
                f"bench {SUITE} --of {name}: needs data: give --data DIR or set KANTOPT_DATA"
            )
        for case in BASES[name].cases(grid):
            found += _pairs(case, BASES[name].model, chosen)
    return found


def model(name: str) -> MakeModel:
    """Return what says the model that a question is stated with.

    Raises
    ------
    UsageError
        If another one is asked for.
    """
    if name != OWN:
        raise UsageError(f"--models: found {name}, expected {OWN}: questions have models")
    return own_model


def featured(stated: Stated, feature: Feature) -> Stated:
    """Add a feature.

    Raises
    ------
    NotHereError
        If it could bind somebody there, or adds nothing.
    """
    made = feature.change(stated)
    if made == stated and feature.name != CONTROL:
        raise NotHereError
    return made


def _pairs(case: Case, make: MakeModel, features: Sequence[Feature]) -> list[Case]:
    plain = stated_by(case, make)
    found: list[Case] = []
    for feature in features:
        try:
            featured(plain(), feature)
        except NotHereError:
            continue
        told = {**case.parameters, BASE: case.suite, FEATURE: feature.name}
        name = f"{case.suite}/{case.instance}/{feature.name}"
        pair = [
            _case(f"{name}/{PLAIN}", case, {**told, RUN: PLAIN}, plain),
            _case(name, case, {**told, RUN: FEATURED}, _adder(plain, feature)),
        ]
        # In turns, so that neither always has the machine that the other has left behind.
        found += reversed(pair) if len(found) % 4 else pair
    return found


def _case(name: str, case: Case, parameters: dict[str, str], make: Callable[[], Documents]) -> Case:
    return replace(
        case,
        suite=SUITE,
        instance=name,
        parameters=parameters,
        make=make,
        for_pending=False,
        one_model=True,
    )


def _adder(plain: Callable[[], Stated], feature: Feature) -> Callable[[], Documents]:
    return lambda: feature.change(plain())


def _suites(grid: Grid) -> Sequence[str]:
    if grid.of:
        return chosen_names("--of", grid.of, list(BASES))
    return [name for name in BASES if name not in left_out(grid)]


def chosen_names(option: str, names: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    """Return the names that an option gives, or all that are known.

    Raises
    ------
    UsageError
        If one is not known.
    """
    return named(option, names, known) or known
