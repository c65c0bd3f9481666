"""The solver's process, started before the options of a command are even read.

Loading the solver takes about as long as reading the options and the input together, on another
core. So it begins at once where the command is one that searches; one in vain is ended unasked.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

    from kantopt.planning.solving.solver_process import SolverProcess

_SEARCHES = ("plan", "defrag", "certify")
"""Commands that take a process; one that is not listed starts it when it needs it."""
_NEEDLESS = {"-h", "--help", "fast", "--engine=fast"}
"""Arguments with which nothing is searched for by the solver."""


def solver_ahead(arguments: Sequence[str]) -> "SolverProcess | None":
    """Start the solver's process if these arguments look as if it were needed."""
    if arguments[:1] == [] or arguments[0] not in _SEARCHES or _NEEDLESS & set(arguments):
        return None
    from kantopt.planning.solving.solver_process import SolverProcess

    return SolverProcess()


def solver_of(context: "typer.Context") -> "SolverProcess":
    """Return the process that was started ahead of a command, else a new one."""
    from kantopt.planning.solving.solver_process import SolverProcess

    return context.find_object(SolverProcess) or SolverProcess()
