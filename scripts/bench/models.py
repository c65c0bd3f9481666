"""The models of the benchmarks: shipped orders of objectives under the rule of a benchmark."""

from __future__ import annotations

from collections.abc import Callable

from kantopt.errors import KantoptError, UsageError
from kantopt.schema.base import API_VERSION
from kantopt.schema.dump import dump_json
from kantopt.schema.extends import load_model
from kantopt.schema.model import Model
from scripts.bench.case import Documents

STRICT = "-strict"
"""Ending of the names of models under which only a more important job evicts."""


MakeModel = Callable[[Documents], Model]
"""Makes the model for an instance, whose size may decide on a limit."""


def shipped(name: str, *, counts: bool) -> MakeModel:
    """Return a maker of a shipped model, the same for every instance; see :func:`bench_model`."""
    model = bench_model(name, counts=counts)
    return lambda _: model


def bench_model(name: str, *, counts: bool) -> Model:
    """Return a shipped model under the name that the tables use.

    Parameters
    ----------
    name
        A shipped model; ``NAME-strict`` is ``NAME`` with ``priority: strict``.
    counts
        Without that ending only how many pods of a priority run is counted, not which
        (``priority: counts``); else the model's own rule stays.

    Raises
    ------
    UsageError
        If there is no such model.
    """
    base = name.removesuffix(STRICT)
    try:
        model = load_model(base)
    except KantoptError as error:
        raise UsageError(f"--models: {error}") from None
    rules = model.rules
    if name.endswith(STRICT):
        rules = rules.model_copy(update={"priority": "strict"})
    elif counts:
        rules = rules.model_copy(update={"priority": "counts"})
    metadata = model.metadata.model_copy(update={"name": name})
    return model.model_copy(
        update={"api_version": API_VERSION, "metadata": metadata, "rules": rules}
    )


def model_text(model: Model) -> str:
    """Write a model as a file that ``kantopt plan -m`` reads, in the form that is read fastest."""
    return dump_json(model)
