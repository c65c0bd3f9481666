"""What a shell completes: models, goals, strategies, and jobs and nodes of the files on the line.

Nothing is printed and nothing fails: what cannot be read completes to nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import Any

from kantopt.errors import KantoptError

_LARGEST = 20_000_000
"""Bytes of files that are read while somebody waits for a word."""
GOALS = ("empty-nodes=", "empty-domain=", "fragment-rate=", "stranded-gpus", "fit=")


def models(incomplete: str) -> list[str]:
    """Names of the shipped models."""
    from kantopt.schema.extends import shipped_models

    return _begun(shipped_models(), incomplete)


def policies(incomplete: str) -> list[str]:
    """Names of the shipped policies."""
    from kantopt.schema.policies import shipped_policies

    return _begun(shipped_policies(), incomplete)


def strategies(incomplete: str) -> list[str]:
    """Names of the strategies of the fast path."""
    from kantopt.search.strategy import Strategy

    return _begun((strategy.value for strategy in Strategy), incomplete)


def techniques(incomplete: str) -> list[str]:
    """Names of the techniques of the search."""
    from kantopt.search.schedule import techniques as all_techniques

    return _begun((technique.name for technique in all_techniques()), incomplete)


def goals(incomplete: str) -> list[str]:
    """Goals of a defragmentation."""
    return _begun(GOALS, incomplete)


def jobs(ctx: Any, incomplete: str) -> list[str]:
    """Jobs of the files that stand on the line, NAMESPACE/NAME."""
    return _begun((f"{job['namespace']}/{job['name']}" for job in _listed(ctx, "jobs")), incomplete)


def nodes(ctx: Any, incomplete: str) -> list[str]:
    """Nodes of the files that stand on the line."""
    return _begun((node["name"] for node in _listed(ctx, "nodes")), incomplete)


def _begun(words: Iterable[str], incomplete: str) -> list[str]:
    return sorted({word for word in words if word.startswith(incomplete)})


def _files(words: Iterable[str]) -> list[str]:
    return [word for word in dict.fromkeys(words) if os.path.isfile(word)]


def _listed(ctx: Any, what: str) -> Iterator[dict[str, str]]:
    """Names, and namespaces of jobs, in the documents of the files on the line."""
    # While an option is completed, arguments have not been taken in yet.
    words = map(str, (*(ctx.params.get("files") or ()), *ctx.args))
    # Of what stands behind the cursor only bash tells.
    later = os.environ.get("COMP_WORDS", "").split()
    given = _files(words) or _files(later)
    if not given or sum(os.path.getsize(path) for path in given) > _LARGEST:
        return
    from kantopt.planning.question import read_question

    with contextlib.suppress(KantoptError, OSError):
        question = read_question(given)
        if what == "nodes":
            yield from ({"name": node.name} for node in question.snapshot.nodes)
        else:
            yield from ({"namespace": job.namespace, "name": job.name} for job in question.jobs)
