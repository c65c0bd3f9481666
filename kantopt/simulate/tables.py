"""Long tables of simulations as CSV, which pandas and spreadsheets read as they are.

``write_tables(folder, histories, simulation)`` writes ``jobs.csv``, ``stays.csv``, ``samples.csv``
(the records of :mod:`kantopt.simulate.history` under their names, with policy and trace in front;
stays name their job) and ``metrics.csv`` (policy, trace, metric, class, value, unit, at_least).
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Literal

from kantopt.schema.answers.simulation import Simulation
from kantopt.schema.writing import make_folder, write_atomic
from kantopt.simulate.history import History, JobRecord, Sample, Stay

_RUN = ("policy", "trace")
_METRICS = (*_RUN, "metric", "class", "value", "unit", "at_least")


def write_tables(folder: str, histories: Sequence[History], simulation: Simulation) -> list[str]:
    """Write the tables into a folder, which is made if need be; each whole or not at all.

    Times are milliseconds since the start, GPUs milli-GPU.

    Returns
    -------
    list of str
        Paths of the files.

    Raises
    ------
    CannotCreateError
        If the folder or a file cannot be made.
    WriteError
        If the disk is full or fails.
    """
    make_folder(folder)
    tables: tuple[tuple[str, Sequence[str], Iterable[Sequence[object]]], ...] = (
        ("jobs.csv", (*_RUN, *_names(JobRecord)), _records(histories, "jobs", JobRecord)),
        ("stays.csv", (*_RUN, *_names(Stay)), _records(histories, "stays", Stay)),
        ("samples.csv", (*_RUN, *_names(Sample)), _records(histories, "samples", Sample)),
        ("metrics.csv", _METRICS, _metrics(simulation)),
    )
    paths = []
    for name, header, rows in tables:
        paths.append(os.path.join(folder, name))
        write_atomic(paths[-1], csv_of(header, rows))
    return paths


_Kind = type[JobRecord] | type[Stay] | type[Sample]


def _names(kind: _Kind) -> list[str]:
    return [each.name for each in fields(kind)]


def csv_of(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Write a table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def _records(
    histories: Iterable[History], name: Literal["jobs", "stays", "samples"], kind: _Kind
) -> Iterator[Sequence[object]]:
    """One row per record of a kind; stays have the name of their job in place of its index."""
    fields_of = attrgetter(*_names(kind))
    for history in histories:
        for record in getattr(history, name):
            first, *rest = fields_of(record)
            first = history.jobs[first].name if kind is Stay else first
            yield history.policy, history.trace, first, *rest


def _metrics(simulation: Simulation) -> Iterator[Sequence[object]]:
    """One row per value: what a policy has on a trace, no means."""
    for group in simulation.groups:
        for measure in group.measures:
            for estimate in measure.estimates:
                rows = zip(simulation.traces, estimate.values, estimate.at_least, strict=True)
                for trace, value, at_least in rows:
                    if value is not None:
                        yield (
                            *(estimate.policy, trace, measure.metric, measure.scope),
                            *(value, measure.unit, at_least),
                        )
