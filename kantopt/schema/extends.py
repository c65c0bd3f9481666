"""Models that start from other models, and where the models of this package lie."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

import kantopt.schema
from kantopt.errors import BadDataError, Problem, UsageError
from kantopt.schema.base import Part
from kantopt.schema.consistency import check_model
from kantopt.schema.files import parse_documents, read_text
from kantopt.schema.hints import did_you_mean, one_of, quote
from kantopt.schema.inputs import label_of
from kantopt.schema.model import Model
from kantopt.schema.validation import document_class, validate

_P = TypeVar("_P", bound=Part)


def models_folder() -> Path:
    """Folder of the shipped models: inside the package, or beside it in a checkout."""
    return shipped_folder("models")


def shipped_folder(in_checkout: str) -> Path:
    """Folder of files that come with the package: inside it, or at their place in a checkout."""
    package = Path(kantopt.schema.__file__).parent.parent
    inside = package / Path(in_checkout).name
    return inside if inside.is_dir() else package.parent / in_checkout


def shipped_models() -> list[str]:
    """Names of the shipped models."""
    return names_in(models_folder())


def names_in(folder: Path) -> list[str]:
    """Names of the documents that a folder holds."""
    return sorted(path.stem for path in folder.glob("*.yaml"))


def load_model(name_or_path: str) -> Model:
    """Read a model with all that it extends.

    Parameters
    ----------
    name_or_path
        Name of a shipped model (``training``), or a path: it has a slash or ends in ``.yaml``,
        ``.yml``, ``.json`` (and ``.gz``), or is ``-``.

    Raises
    ------
    UsageError
        If there is no such shipped model.
    MissingInputError
        If there is no such file.
    BadDataError
        If a model on the way cannot be used.
    """
    shipped = name_or_path != "-" and is_name(name_or_path)
    path = shipped_path("model", name_or_path, models_folder()) if shipped else name_or_path
    return resolve_model(_read(path), label_of(path))


def is_name(text: str) -> bool:
    """Whether something names a shipped document; else it is a path."""
    bare = text.removesuffix(".gz")
    return "/" not in text and os.sep not in text and Path(bare).suffix not in _SUFFIXES


def resolve_model(model: Model, file: str) -> Model:
    """Merge a model with those that it extends; ``extends`` is then empty.

    Rules, limits and the schedule are merged name by name, everything else is replaced if given;
    the name is the model's own.

    Parameters
    ----------
    model
        The model as read.
    file
        File that it was read from; paths in ``extends`` are relative to its folder.

    Raises
    ------
    BadDataError
        If models extend each other in a circle, an extended name is unknown, or none of them
        gives objectives.
    """
    chain, files = [model], [file]
    while chain[-1].extends is not None:
        path = _target(chain[-1].extends, files[-1])
        if any(_same(path, earlier) for earlier in files):
            circle = " -> ".join([*files, path])
            problem = Problem(files[-1], "extends", f"a circle: {circle}", "an end of the chain")
            raise BadDataError([problem])
        chain.append(_read(path))
        files.append(path)
    merged = chain.pop()
    for child in reversed(chain):
        merged = _merge(merged, child)
    if merged.objectives is None:
        expected = "a list of metrics here or in a model that it extends"
        raise BadDataError([Problem(file, "objectives", "nothing", expected)])
    return merged.model_copy(update={"extends": None})


def _merge(parent: Model, child: Model) -> Model:
    update: dict[str, object] = {
        "metadata": child.metadata,
        "rules": _override(parent.rules, child.rules),
        "limits": _override(parent.limits, child.limits),
        "schedule": _override(parent.schedule, child.schedule),
    }
    if child.objectives is not None:
        update["objectives"] = child.objectives
    for name in (
        "required",
        "pending",
        "drain",
        "zone",
        "disturb",
        "exempt",
        "assume",
        "min_benefit",
    ):
        if name in child.model_fields_set:
            update[name] = getattr(child, name)
    return parent.model_copy(update=update)


def _override(parent: Part, child: Part) -> Part:
    given = {name: getattr(child, name) for name in sorted(child.model_fields_set)}
    return parent.model_copy(update=given)


_SUFFIXES = {".yaml", ".yml", ".json"}


def _target(extends: str, file: str) -> str:
    if is_name(extends):
        return shipped_path("model", extends, models_folder(), file)
    if "\0" in extends:
        raise BadDataError([Problem(file, "extends", quote(extends), "the path of a file")])
    return os.path.normpath(os.path.join(os.path.dirname(file), extends))


def shipped_path(what: str, name: str, folder: Path, file: str | None = None) -> str:
    """Path of a shipped document; a wrong name in a file is bad data, elsewhere a wrong argument.

    Raises
    ------
    UsageError, BadDataError
        If the folder has none of this name.
    """
    names = names_in(folder)
    if name in names:
        return str(folder / f"{name}.yaml")
    expected, hint = f"{one_of(names)}, or a path", did_you_mean(name, names)
    if file is None:
        raise UsageError(str(Problem(what, "", quote(name), expected, hint)))
    raise BadDataError([Problem(file, "extends", quote(name), expected, hint)])


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def read_single(path: str, cls: type[_P]) -> _P:
    """Read a file with one document of a kind.

    Raises
    ------
    MissingInputError
        If there is no such file.
    BadDataError
        If it has another number or kind of documents, or the document cannot be used.
    """
    file = label_of(path)
    documents = parse_documents(read_text(path), file)
    if len(documents) != 1:
        found = f"{len(documents)} documents"
        raise BadDataError([Problem(file, "", found, f"one document of kind {cls.__name__}")])
    raw = documents[0]
    if document_class(raw) is not cls:
        kind = quote(str(raw.data["kind"]))
        raise BadDataError([Problem(file, "kind", kind, cls.__name__)])
    return validate(raw, cls)


def _read(path: str) -> Model:
    file, model = label_of(path), read_single(path, Model)
    problems = check_model(model, file)
    if problems:
        raise BadDataError(problems)
    return model
