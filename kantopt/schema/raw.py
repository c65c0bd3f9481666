"""A document as it was written, before anything is known about what it should hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RawDocument:
    """One document of a file.

    ``index`` is 0 for the only document of a file, else its place in the file, from 1.
    """

    file: str
    index: int
    data: dict[str, Any]

    @property
    def label(self) -> str:
        """The file and, where it holds several documents, which of them (``jobs.yaml#2``)."""
        return f"{self.file}#{self.index}" if self.index else self.file


def is_kubernetes(data: dict[str, Any]) -> bool:
    """Whether a document is a Kubernetes object or a list of them (``kubectl get -o json``)."""
    version, kind = data.get("apiVersion"), data.get("kind")
    return (
        isinstance(version, str)
        and isinstance(kind, str)
        and kind != ""
        and version != ""
        and version.partition("/")[0] != "kantopt"
    )
