"""The instances with known optima that lie beside the sources, each with a model of its own."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

from kantopt.errors import MissingInputError
from kantopt.planning.question import Question, question_of
from kantopt.schema.files import load_raw
from kantopt.schema.model import Model
from scripts.bench.case import Case, Documents

SUITE = "golden"
FOLDER = Path(__file__).resolve().parents[2] / "instances" / SUITE
OWN = "own"
"""Name of the models that the files hold."""


def cases() -> list[Case]:
    """List the instances.

    Raises
    ------
    MissingInputError
        If they are not there.
    """
    files = sorted(path for path in FOLDER.glob("*.yaml") if path.stem != "expected")
    if not files:
        raise MissingInputError(f"{FOLDER}: found no instances, expected those of a checkout")
    return [
        Case(SUITE, path.stem, 0, {}, partial(_documents, path), for_pending=False)
        for path in files
    ]


def model(documents: Documents) -> Model:
    """Return the model that the instance's file holds."""
    found = _read(FOLDER / f"{documents.snapshot.metadata.name}.yaml").model
    assert found is not None, f"{documents.snapshot.metadata.name} has no model"
    return found


def _documents(path: Path) -> Documents:
    question = _read(path)
    return Documents(question.snapshot, question.pending)


@cache
def _read(path: Path) -> Question:
    return question_of(load_raw([str(path)]))
