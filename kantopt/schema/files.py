"""Documents from files: reading, unpacking, telling JSON from YAML, checking them together."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kantopt.errors import BadDataError, Problem, UsageError
from kantopt.schema import inputs
from kantopt.schema.garbage import kept
from kantopt.schema.hints import shown
from kantopt.schema.inputs import label_of, read_bytes
from kantopt.schema.json_text import parse_json
from kantopt.schema.kai_snapshot import ZIP, is_kai_snapshot, list_of, unzip
from kantopt.schema.raw import (
    SLURM_TEXT,
    SLURM_TOPOLOGIES,
    RawDocument,
    is_slurm_text,
    is_slurm_topology,
)

if TYPE_CHECKING:
    from kantopt.schema.base import Part

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_LONG_YAML = 10_000
"""Characters from which on it pays to try the fast way first."""


def read_text(path: str) -> bytes:
    """Read a file, or standard input for ``-``; gzip and zip are told by their first bytes.

    Raises
    ------
    MissingInputError
        If there is no such file or it cannot be read.
    UsageError
        If standard input was read before: it can be read only once.
    BadDataError
        If the file is empty, too large, broken gzip or zip, or not UTF-8.
    """
    data = read_bytes(path)
    file = label_of(path)
    if data.startswith(_GZIP):
        data = _unpack(data, file)
    elif data.startswith(ZIP):
        data = unzip(data, file)
    data = data.removeprefix(_BOM)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        hint = "it looks like UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        line = data.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{data[error.start]:02x}"
        raise BadDataError([Problem(file, f"line {line}", found, "UTF-8 text", hint)]) from None
    if not data.strip():
        raise BadDataError([Problem(file, "", "an empty file", "at least one document")])
    return data


def _unpack(data: bytes, file: str) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            text = b"".join(inputs.blocks_of(lambda: packed.read(inputs.BLOCK)))
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise BadDataError([Problem(file, "", "broken gzip data", "a whole gzip file")]) from None
    inputs.check_size(text, file, "unpacked data")
    return text


@kept()
def parse_documents(data: bytes, file: str) -> list[RawDocument]:
    """Split a text into its documents; a text that starts with ``{`` or ``[`` is JSON.

    What Slurm prints as text is one document, whose lines its import reads.

    Raises
    ------
    BadDataError
        For broken syntax, duplicate keys, a document that is no mapping, or none at all.
    """
    text = data.decode()
    if is_slurm_text(text):
        return [RawDocument(file, 0, {SLURM_TEXT: text})]
    if text.lstrip()[:14].lower().startswith(("<!doctype html", "<html")):
        hint = "a page is for people; -O FILE.json keeps what can be read again"
        raise BadDataError([Problem(file, "", "an HTML page", "YAML or JSON", hint)])
    if text.lstrip()[:1] in ("{", "["):
        values = parse_json(text, file)
    else:
        values = [value for value in _read_yaml(text, file) if value is not None]
    if not values:
        found = "only comments or empty documents"
        raise BadDataError([Problem(file, "", found, "at least one document")])
    problems, documents = [], []
    for index, value in enumerate(values, 1):
        if is_slurm_topology(value):
            value = {SLURM_TOPOLOGIES: value}
        elif is_kai_snapshot(value):
            value = list_of(value, file)
        raw = RawDocument(file, index if len(values) > 1 else 0, value)
        if isinstance(value, dict):
            documents.append(raw)
        else:
            problems.append(Problem(raw.label, "", shown(value), "a document (a mapping)"))
    if problems:
        raise BadDataError(problems)
    return documents


def _read_yaml(text: str, file: str) -> list[Any]:
    # What people write themselves is short, and mostly in forms that the fast way does not know.
    if len(text) >= _LONG_YAML:
        from kantopt.schema.yaml.block import read_block_yaml

        values = read_block_yaml(text)
        if values is not None:
            return values
    # PyYAML takes its time to load, and clusters mostly come as JSON.
    from kantopt.schema.yaml.text import parse_yaml

    return parse_yaml(text, file)


@kept()
def load_raw(paths: Sequence[str]) -> list[RawDocument]:
    """Read every document of every file, in order.

    Raises
    ------
    UsageError
        If standard input is named twice.
    MissingInputError
        If a file cannot be read.
    BadDataError
        With the problems of all files.
    """
    if paths.count("-") > 1:
        raise UsageError("standard input (-) can be read only once")
    documents: list[RawDocument] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            documents.extend(parse_documents(read_text(path), label_of(path)))
        except BadDataError as error:
            problems.extend(error.problems)
    if problems:
        raise BadDataError(problems)
    return documents


@kept()
def load_native(paths: Sequence[str]) -> list[tuple[RawDocument, Part]]:
    """Read and check our own documents, each by itself and jobs against the one snapshot.

    Raises
    ------
    UsageError, MissingInputError
        As :func:`load_raw`.
    BadDataError
        With the problems of all documents. What documents say of each other is checked once
        each is sound by itself.
    """
    # pydantic takes its time to load and the raw reader does not need it.
    from kantopt.schema.consistency import check_documents
    from kantopt.schema.validation import validate_all

    pairs, problems = validate_all(load_raw(paths))
    problems = problems or check_documents(pairs)
    if problems:
        raise BadDataError(problems)
    return pairs
