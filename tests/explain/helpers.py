"""Questions as documents in a few words, and their explanations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kantopt.clock import Deadline
from kantopt.planning.explain.run import explain
from kantopt.planning.question import Question, question_of
from kantopt.schema.answers.explanation import Explanation
from kantopt.schema.base import API_VERSION
from kantopt.schema.extends import load_model
from kantopt.schema.model import Model
from kantopt.schema.raw import RawDocument

Document = dict[str, Any]


def documents(
    nodes: Sequence[Document], jobs: Sequence[Document], **snapshot: Any
) -> tuple[Document, Document]:
    """Snapshot and job list about some nodes and jobs; levels are block and rack."""
    levels = [{"name": name, "nodeLabel": name} for name in ("block", "rack")]
    running = [job for job in jobs if any(p.get("assignments") for p in job["podSets"])]
    pending = [job for job in jobs if job not in running]
    head = {"apiVersion": API_VERSION}
    return (
        {
            **head,
            "kind": "ClusterSnapshot",
            "metadata": {"name": "test", "capturedAt": "2026-01-01T01:00:00Z"},
            "topology": {"levels": levels},
            "nodes": list(nodes),
            "jobs": running,
            **snapshot,
        },
        {**head, "kind": "JobList", "jobs": pending},
    )


def asked(
    nodes: Sequence[Document], jobs: Sequence[Document], model: Document | None = None, **more: Any
) -> Question:
    """A question about some nodes and jobs."""
    parts = list(documents(nodes, jobs, **more))
    if model is not None:
        parts.append({"apiVersion": API_VERSION, "kind": "Model", "extends": "mixed", **model})
    return question_of([RawDocument("test", i, part) for i, part in enumerate(parts)])


def model_of(question: Question) -> Model:
    """Model of a question, ``mixed`` if it has none."""
    return question.model or load_model("mixed")


def explained(
    question: Question, name: str = "j", seconds: float = 60.0, **more: Any
) -> Explanation:
    """Explain a job to the end."""
    deadline = Deadline.within(seconds)
    return list(explain(question, model_of(question), name, deadline, **more))[-1]
