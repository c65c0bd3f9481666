"""``kantopt drain``: ``kantopt defrag`` with nodes to be emptied as its goal."""

import inspect
import os
import sys
from typing import Annotated, Any

import typer

from kantopt.cli import completion
from kantopt.cli.defrag import defrag
from kantopt.cli.named import DOCUMENTS
from kantopt.errors import UsageError

_NODES = Annotated[
    list[str],
    typer.Argument(
        metavar="NODE...",
        help="Nodes to be emptied; patterns too.",
        autocompletion=completion.nodes,
    ),
]
_FILES = Annotated[
    list[str] | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help="Cluster, and whatever else `kantopt defrag` reads; - for standard input. Repeatable.",
        show_default="standard input",
    ),
]
_INSTEAD = ("files", "goal", "min_benefit")
"""Parameters of ``defrag`` that nodes and files stand for, or that say nothing here."""


def drain(nodes: list[str], files: list[str] | None = None, **options: Any) -> int:
    """Plan where pods of nodes go before maintenance, in legal waves.

    The nodes receive nothing, and pods may move off them even if they are not ready; daemons stay.
    Pods that cannot go are named with the reason. Nobody is evicted unless --max-evictions says so,
    and then only for more important jobs that are placed, unless the model has the rule priority
    off. Cordon the nodes before the plan is carried out. Exit codes are those of kantopt defrag:
    0 all pods can go, 3 some stay (the plan for the others is written), 4 with --require-goal they
    provably must.
    """
    for name in nodes:
        if name.endswith(DOCUMENTS) or os.path.isfile(name):  # a folder may be called like a node
            expected = f"names of nodes, and files behind -f (did you mean -f {name}?)"
            raise UsageError(f"drain: found the file {name}, expected {expected}")
    if files is None and sys.stdin.isatty():
        raise UsageError("drain: found no input, expected --file FILE or a cluster on stdin")
    goal = [f"drain={node}" for node in nodes]
    return defrag(files=files or ["-"], goal=goal, min_benefit=None, **options)


def _parameters() -> list[inspect.Parameter]:
    kind = inspect.Parameter.KEYWORD_ONLY
    own = [
        inspect.Parameter("nodes", kind, annotation=_NODES),
        inspect.Parameter("files", kind, default=None, annotation=_FILES),
    ]
    theirs = inspect.signature(defrag).parameters.items()
    context, *rest = [each for name, each in theirs if name not in _INSTEAD]
    return [each.replace(kind=kind) for each in (context, *own, *rest)]


drain.__signature__ = inspect.Signature(_parameters())  # type: ignore[attr-defined]
drain.__annotations__ = {each.name: each.annotation for each in _parameters()}
