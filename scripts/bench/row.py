"""One row of a benchmark's CSV file: an instance, how it was asked, what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal, NamedTuple

Category = Literal["no call", "better+optimal", "better", "default optimal", "failed"]
CATEGORIES: tuple[Category, ...] = (
    "no call",
    "better+optimal",
    "better",
    "default optimal",
    "failed",
)
"""As published: nothing was pending; a better plan than the start, proved or not; the start proved
the best; neither better nor proved. Plans that are worse or illegal count as failed too."""


class Bound(NamedTuple):
    """A bound of a tier; ``given`` if only for plans no worse in the tiers above."""

    value: int
    given: bool = False

    def __str__(self) -> str:
        return f"{self.value}{'*' if self.given else ''}"


Bounds = tuple[Bound | None, ...]
Key = tuple[str, str, int, str, str, float, str, str]


@dataclass(frozen=True, slots=True)
class Row:
    """One run. Times are in seconds since the process began; ``None`` is unknown or never.

    ``values`` and the like have one entry per tier, the most important first; ``start``, ``placed``
    and ``wanted`` count pods by priority.
    """

    suite: str
    instance: str
    seed: int
    parameters: Mapping[str, str]
    engine: str
    model: str
    limit_seconds: float
    category: Category
    verified: str
    """``yes``, what the judge found wrong, or nothing if there is no plan."""
    status: str
    tiers: tuple[str, ...]
    before: tuple[int, ...]
    values: tuple[int, ...]
    required_before: int
    """Required jobs that the start leaves out: one that does is no answer, however it compares."""
    required_left: int
    """Required jobs that the plan leaves out."""
    bounds: Bounds
    statuses: tuple[str, ...]
    wanted: Mapping[int, int]
    start: Mapping[int, int]
    placed: Mapping[int, int]
    evictions: int | None
    moves: int | None
    wall_seconds: float | None
    cpu_seconds: float | None
    """Processor time of the whole process; what a busy machine does not change much."""
    read_seconds: float | None
    """When the input had been read."""
    first_seconds: float | None
    best_seconds: float | None
    proof_seconds: float | None
    overrun_seconds: float | None
    used_share: float | None
    """Part of the limit that a run took which left a tier open; ``None`` of others."""
    peak_mib: int | None
    exit_code: int | None
    found_by: str
    size: Mapping[str, int]
    """Nodes, jobs and pods of the instance."""
    parallel: int
    """Runs at the same time."""
    processors: int
    load: float
    """Load average of the machine when the run ended: above ``processors`` times are inflated."""
    kantopt: str
    ortools: str
    python: str
    note: str

    @property
    def key(self) -> Key:
        """What makes another run of the same a repetition."""
        return (
            self.suite,
            self.instance,
            self.seed,
            self.engine,
            self.model,
            self.limit_seconds,
            self.kantopt,
            self.ortools,
        )

    @property
    def called(self) -> bool:
        """Whether anything was pending."""
        return self.category != "no call"

    @property
    def worse(self) -> bool:
        """Whether the plan is worse than doing nothing."""
        return self.outcome > (self.required_before, *self.before)

    @property
    def outcome(self) -> tuple[int, ...]:
        """What plans of one question are compared by: what is required comes before all tiers."""
        return self.required_left, *self.values

    @property
    def proved(self) -> bool:
        """Whether every tier is."""
        return not self.called or (self.category != "failed" and self.status == "OPTIMAL")

    def placement_settled(self, within: int = 0) -> bool:
        """Whether all placement tiers are proved; the lowest may miss its bound by ``within``."""
        if not self.called:
            return True
        rows = [
            (value, bound)
            for tier, value, bound in zip(self.tiers, self.values, self.bounds, strict=True)
            if tier.startswith("unplaced")
        ]
        if not rows or self.verified != "yes" or any(bound is None for _, bound in rows):
            return False
        gaps = [value - bound.value for value, bound in rows if bound is not None]
        return not any(gaps[:-1]) and gaps[-1] <= within


COLUMNS = tuple(each.name for each in fields(Row))


def to_cells(row: object, columns: Sequence[str] = COLUMNS) -> list[str]:
    """Write the fields of a row, of any benchmark, as the cells of a CSV line."""
    return [cell(getattr(row, name)) for name in columns]


def cell(value: object) -> str:
    """Write a value as a cell: numbers short, pairs and lists in words, nothing as nothing."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, Mapping):
        return " ".join(f"{key}={each}" for key, each in value.items())
    if isinstance(value, tuple):
        glue = ";" if value and isinstance(value[0], str) else " "
        return glue.join("-" if each is None else str(each) for each in value)
    return " ".join(str(value).split())


def from_cells(cells: Mapping[str, str]) -> Row:
    """Read a row.

    Raises
    ------
    ValueError, KeyError
        If it is none.
    """
    return Row(
        suite=cells["suite"],
        instance=cells["instance"],
        seed=int(cells["seed"]),
        parameters=_pairs(cells["parameters"]),
        engine=cells["engine"],
        model=cells["model"],
        limit_seconds=float(cells["limit_seconds"]),
        category=_category(cells["category"]),
        verified=cells["verified"],
        status=cells["status"],
        tiers=tuple(cells["tiers"].split(";")) if cells["tiers"] else (),
        before=_integers(cells["before"]),
        values=_integers(cells["values"]),
        required_before=int(cells["required_before"]),
        required_left=int(cells["required_left"]),
        bounds=read_bounds(cells["bounds"]),
        statuses=tuple(cells["statuses"].split(";")) if cells["statuses"] else (),
        wanted=_by_priority(cells["wanted"]),
        start=_by_priority(cells["start"]),
        placed=_by_priority(cells["placed"]),
        evictions=_integer(cells["evictions"]),
        moves=_integer(cells["moves"]),
        wall_seconds=_number(cells["wall_seconds"]),
        cpu_seconds=_number(cells["cpu_seconds"]),
        read_seconds=_number(cells["read_seconds"]),
        first_seconds=_number(cells["first_seconds"]),
        best_seconds=_number(cells["best_seconds"]),
        proof_seconds=_number(cells["proof_seconds"]),
        overrun_seconds=_number(cells["overrun_seconds"]),
        used_share=_number(cells["used_share"]),
        peak_mib=_integer(cells["peak_mib"]),
        exit_code=_integer(cells["exit_code"]),
        found_by=cells["found_by"],
        size={name: int(count) for name, count in _pairs(cells["size"]).items()},
        parallel=int(cells["parallel"]),
        processors=int(cells["processors"]),
        load=float(cells["load"]),
        kantopt=cells["kantopt"],
        ortools=cells["ortools"],
        python=cells["python"],
        note=cells["note"],
    )


def read_bounds(text: str) -> Bounds:
    """Read bounds such as ``0 3* -``."""
    return tuple(
        None if word == "-" else Bound(int(word.rstrip("*")), word.endswith("*"))
        for word in text.split()
    )


def write_numbers(values: Sequence[object]) -> str:
    """Write tier values or bounds as one cell."""
    return " ".join("-" if value is None else str(value) for value in values)


def _category(text: str) -> Category:
    return next(each for each in CATEGORIES if each == text)


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.split())


def _by_priority(text: str) -> dict[int, int]:
    return {int(priority): int(pods) for priority, pods in _pairs(text).items()}


def _integers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split()))


def _integer(text: str) -> int | None:
    return int(text) if text else None


def _number(text: str) -> float | None:
    return float(text) if text else None
