"""Line and column of a place in a document, looked up again when something is wrong there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import yaml

from kantopt.errors import KantoptError, Problem
from kantopt.schema.files import read_text
from kantopt.schema.yaml.text import MAX_DEPTH

_STEP = re.compile(r"""\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|\.?([A-Za-z_][A-Za-z0-9_-]*)""")
_PATH = re.compile(f"(?:{_STEP.pattern})*")
"""Other paths name no place in a document, as those of another system's records."""
_LARGEST = 4_000_000
"""Bytes of a file that is read once more; of a larger one nobody counts lines."""
_MOST = 20
"""Problems that are looked up."""


def located(problems: Sequence[Problem]) -> list[Problem]:
    """Say of problems at which line and column of their file they are, where that can be told.

    Standard input cannot be read again. What is missing is told by what it is missing in.
    """
    found: list[Problem] = []
    documents: dict[str, list[yaml.Node]] = {}
    for problem in problems[:_MOST]:
        file, _, number = problem.file.partition("#")
        is_place = problem.path and _PATH.fullmatch(problem.path) is not None
        if is_place and file not in documents:
            documents[file] = list(_documents(file))
        index = int(number) - 1 if number.isdigit() else 0
        if is_place and index < len(documents[file]):
            line, column = _mark(documents[file][index], problem.path)
            hint = f"line {line}, column {column}"
            problem = replace(problem, hint=f"{problem.hint}; {hint}" if problem.hint else hint)
        found.append(problem)
    return [*found, *problems[_MOST:]]


def _documents(file: str) -> Iterator[yaml.Node]:
    """Read a file as YAML, of which JSON is a part, with the places of everything."""
    if file.startswith("<"):
        return
    try:
        data = read_text(file)
        if len(data) > _LARGEST:
            return
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        if _is_deep(yaml.parse(data, Loader=loader)):
            return  # composing goes as deep in C, whose stack nobody looks after
        yield from (node for node in yaml.compose_all(data, Loader=loader) if node is not None)
    except (KantoptError, yaml.YAMLError, RecursionError):
        return  # what is wrong with it was said


def _is_deep(events: Iterable[yaml.Event]) -> bool:
    """Whether a text is nested deeper than documents may be."""
    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            return True
    return False


def _mark(node: yaml.Node, path: str) -> tuple[int, int]:
    """Line and column, from 1, of a place, or of the innermost part of it that there is."""
    mark = node.start_mark
    for index, quoted, name in _STEP.findall(path):
        if index:
            if not isinstance(node, yaml.SequenceNode) or int(index) >= len(node.value):
                break
            node = node.value[int(index)]
            mark = node.start_mark
        else:
            key = json.loads(quoted) if quoted else name
            pairs = node.value if isinstance(node, yaml.MappingNode) else []
            pair = next((pair for pair in pairs if pair[0].value == key), None)
            if pair is None:
                break
            mark, node = pair[0].start_mark, pair[1]
    return mark.line + 1, mark.column + 1
