"""Names and labels that no API server takes, as those of other systems may be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from kantopt.formats.kubernetes.nodes import LABEL_KEY, LABEL_VALUE, NAME_PART
from kantopt.formats.notes import Notes
from kantopt.formats.written.plain import Data

REFUSED = "names and labels that no API server of Kubernetes takes"
"""What a note says of them."""
_NAMESPACE = re.compile(rf"(?=.{{1,63}}$){NAME_PART}")
_NAME = re.compile(rf"(?=.{{1,253}}$){NAME_PART}(?:\.{NAME_PART})*")
_LABELS = ("labels", "matchLabels", "nodeSelector")
_AMOUNTS = ("requests", "limits", "allocatable")


def note_refused(objects: Iterable[Data], notes: Notes) -> None:
    """Note each name, and each key or value of a label, with which an object is refused."""
    for made in objects:
        metadata = made["metadata"]
        own = _NAMESPACE if made["kind"] == "Namespace" else _NAME
        named = [(own, metadata["name"]), (_NAMESPACE, metadata.get("namespace", "default"))]
        for pattern, text in (*named, *_labels(made)):
            if not pattern.fullmatch(text):
                notes.once(REFUSED, text)


def _labels(data: Any, field: str = "") -> Iterator[tuple[re.Pattern[str], str]]:
    """Yield keys and values of labels, and names of resources, with what they have to be."""
    if isinstance(data, list):
        for item in data:
            yield from _labels(item)
    elif isinstance(data, dict):
        for key, value in data.items():
            if field in _LABELS or field in _AMOUNTS:
                yield LABEL_KEY, key
            if field in _LABELS:
                yield LABEL_VALUE, value
            yield from _labels(value, key)
