"""Raw documents into checked ones; everything that is wrong is said at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from kantopt.errors import BadDataError, Problem
from kantopt.schema.answers.certificate import Certificate
from kantopt.schema.answers.plan import Plan
from kantopt.schema.base import API_VERSION, Part
from kantopt.schema.expected import (
    Spec,
    describe,
    field_names,
    is_part,
    is_union,
    locate,
    metric_names,
)
from kantopt.schema.garbage import kept
from kantopt.schema.hints import did_you_mean, nearest, one_of, path_text, quote, shown
from kantopt.schema.jobs import JobList
from kantopt.schema.model import Model, PriorityObjective
from kantopt.schema.policy import Policy
from kantopt.schema.quantity import quantity_meant
from kantopt.schema.raw import RawDocument, is_kubernetes
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.trace import Trace

KINDS: dict[str, type[Part]] = {
    "ClusterSnapshot": ClusterSnapshot,
    "JobList": JobList,
    "Model": Model,
    "Plan": Plan,
    "Certificate": Certificate,
    "Trace": Trace,
    "Policy": Policy,
}
MAX_DEPTH = 100

_NESTED = frozenset({dict, list})
_P = TypeVar("_P", bound=Part)


def document_class(raw: RawDocument, kinds: Mapping[str, type[Part]] = KINDS) -> type[Part]:
    """Find which of the documents this is.

    Raises
    ------
    BadDataError
        If ``kind`` or ``apiVersion`` is missing, misspelt or not supported.
    """
    problems = []
    version, kind = raw.data.get("apiVersion"), raw.data.get("kind")
    if is_kubernetes(raw.data) and kind not in KINDS:
        found = f"the Kubernetes kind {quote(str(kind))}"
        raise BadDataError([Problem(raw.label, "kind", found, one_of(list(kinds)))])
    if version != API_VERSION:
        found = "nothing" if version is None else shown(version)
        hint = "the only version supported" if str(version).startswith("kantopt/") else ""
        problems.append(Problem(raw.label, "apiVersion", found, API_VERSION, hint))
    if not isinstance(kind, str) or kind not in kinds:
        found = "nothing" if kind is None else shown(kind)
        hint = did_you_mean(kind, kinds) if isinstance(kind, str) else ""
        problems.append(Problem(raw.label, "kind", found, one_of(list(kinds)), hint))
    if problems:
        raise BadDataError(problems)
    return kinds[str(kind)]


@kept()
def validate_all(
    raws: Sequence[RawDocument],
) -> tuple[list[tuple[RawDocument, Part]], list[Problem]]:
    """Validate documents of any kind; return those that are sound, and all problems."""
    pairs: list[tuple[RawDocument, Part]] = []
    problems: list[Problem] = []
    for raw in raws:
        try:
            pairs.append((raw, validate(raw, document_class(raw))))
        except BadDataError as error:
            problems += error.problems
    return pairs, problems


def validate(raw: RawDocument, cls: type[_P]) -> _P:
    """Check a raw document against its form.

    Raises
    ------
    BadDataError
        With every problem of the document, not only the first.
    """
    try:
        # Not JSON mode: a validator that runs before a part turns its JSON into Python values,
        # whose lists are then refused for tuples.
        return cls.model_validate(_frozen(raw.data, MAX_DEPTH), by_alias=True, by_name=False)
    except RecursionError:
        deep = Problem(
            raw.label, "", f"more than {MAX_DEPTH} levels of nesting", f"at most {MAX_DEPTH} levels"
        )
        raise BadDataError([deep]) from None
    except ValidationError as error:
        details = error.errors(include_url=False)
    raise BadDataError(_problems(details, raw, cls))


def _frozen(value: Any, levels: int) -> Any:
    """Turn lists into tuples, which is what strict parts accept; what has none stays the same.

    ``value`` is a list or mapping; one of a million others in a large cluster, so that nothing is
    called for what it holds unless that is one as well.
    """
    if value and not levels:
        raise RecursionError
    if value.__class__ is list:
        return tuple(
            [_frozen(item, levels - 1) if item.__class__ in _NESTED else item for item in value]
        )
    frozen = value
    for key, item in value.items():
        if item.__class__ in _NESTED:
            below = _frozen(item, levels - 1)
            if below is not item:
                if frozen is value:
                    frozen = value.copy()
                frozen[key] = below
    return frozen


def _problems(details: list[ErrorDetails], raw: RawDocument, cls: type[Part]) -> list[Problem]:
    """One problem for each place: the members of a union complain one by one."""
    places: dict[tuple[int | str, ...], Problem] = {}
    missing: set[tuple[int | str, ...]] = set()
    meant: set[tuple[int | str, ...]] = set()
    for detail in details:
        path, spec, parent = locate(cls, detail["loc"])
        if detail["type"] == "too_short" and detail["input"]:
            # pydantic counts good entries only; what is wrong with the others is said elsewhere.
            continue
        if detail["type"] == "missing":
            missing.add(path)
        if detail["type"] == "extra_forbidden":
            near = nearest(str(path[-1]), list(field_names(parent.base)))
            meant |= {(*path[:-1], near)} if near else set()
        if path not in places:
            places[path] = _problem(detail, path, spec, parent, raw)
    # A misspelt field is one mistake, not two: the field it was meant to be is not missing too.
    for path in missing & meant:
        del places[path]
    return sorted(places.values(), key=lambda problem: _order(problem.path))


def _order(path: str) -> list[tuple[int, str]]:
    """Sort ``jobs[10]`` behind ``jobs[9]``."""
    steps = path.replace("]", "").replace("[", ".").split(".")
    return [(int(step), "") if step.isdecimal() else (0, step) for step in steps]


def _problem(
    detail: ErrorDetails,
    path: tuple[int | str, ...],
    spec: Spec,
    parent: Spec,
    raw: RawDocument,
) -> Problem:
    kind, value, text = detail["type"], detail["input"], path_text(path)
    if kind == "extra_forbidden":
        return _unknown_field(str(path[-1]), path, parent, raw)
    if kind == "missing":
        return Problem(raw.label, text, "nothing", describe(spec))
    if kind == "value_error" and is_part(spec.base):
        found = f"{len(value)} metrics" if value else "no metric"
        if value:
            found += f" ({', '.join(str(key) for key in value)})"
        return Problem(raw.label, text, found, "exactly one metric per objective")
    if kind == "value_error":
        reason = str(detail.get("ctx", {}).get("error", ""))
        expected = describe(spec)
        if reason == "negative":
            expected = "a quantity that is not negative"
        elif reason.startswith("larger"):
            expected = "a quantity below 2^63"
        meant = quantity_meant(value) if reason == "not a quantity" else ""
        return Problem(raw.label, text, shown(value), expected, meant)
    required = is_part(parent.base) and field_names(parent.base)[str(path[-1])].is_required()
    hint = "" if value is None and required else _hint(value, spec)
    return Problem(raw.label, text, shown(value), describe(spec), hint)


def _unknown_field(
    name: str, path: tuple[int | str, ...], parent: Spec, raw: RawDocument
) -> Problem:
    part = parent.base
    if issubclass(part, PriorityObjective):
        names = metric_names(part)
        # An objective may be written as its bare name: then no mapping stands in the document.
        return Problem(
            raw.label,
            path_text(path[:-1]),
            f"the unknown metric {quote(name)}",
            one_of(names),
            did_you_mean(name, names),
        )
    fields = list(field_names(part))
    hint = did_you_mean(name, fields)
    expected = "a known field" if hint else one_of(fields, longest=30)
    return Problem(raw.label, path_text(path), "an unknown field", expected, hint)


def _hint(value: Any, spec: Spec) -> str:
    """Suggest what to write instead, where one slip is the likely reason."""
    base = spec.base
    if value is None:
        return "leave the field out instead"
    if get_origin(base) is Literal:
        options = [str(arg) for arg in get_args(base)]
        if isinstance(value, bool) and "off" in options and value is False:
            return 'write "off" in quotes: without, YAML reads false'
        if isinstance(value, str) and len(options) > 1:
            return did_you_mean(value, options)
        return ""
    if base is str or spec.is_quantity:
        if isinstance(value, bool | int | float):
            # The spelling in the file is not known here: yes is true by now, and 1e3 is 1000.0.
            if base is str:
                return "put it in quotes"
            if isinstance(value, float):
                return "floats are not exact: put it in quotes"
        return ""
    if isinstance(value, str):
        if (base is int or is_union(base)) and value.isdecimal():
            return f"without quotes: {value}"
        if base is bool and value.casefold() in ("true", "false", "yes", "no"):
            truth = value.casefold() in ("true", "yes")
            return f"without quotes: {str(truth).lower()}"
    if base is int and isinstance(value, float) and value.is_integer():
        return f"without a fraction: {int(value)}"
    return ""
