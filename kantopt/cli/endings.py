"""What ends a run, and with which exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence

from kantopt.cli.output import LogForm, complain, emit, log_form_of
from kantopt.cli.signals import (
    INTERRUPTED,
    Terminated,
    came_early,
    quit_code,
    quit_on_signals,
)
from kantopt.cli.spoken import speak
from kantopt.cli.version import version_text
from kantopt.clock import Stop
from kantopt.errors import (
    BadDataError,
    KantoptError,
    Problem,
    StdoutError,
    SystemRefusesError,
    said_of,
)

INTERNAL, PIPE = 1, 141
MOST_PROBLEMS = 20
"""Problems of documents that are told, unless all are asked for."""


def run(arguments: Sequence[str], dispatch: Callable[[list[str]], int] | None = None) -> int:
    """Run the command line and return its exit code; never raises.

    Parameters
    ----------
    arguments
        What follows the name of the program.
    dispatch
        What reads them and runs; by default the commands of kantopt.
    """
    verbose = "-v" in arguments or "--verbose" in arguments
    form = log_form_of(arguments)
    speak(None)
    try:
        with quit_on_signals():
            code = (dispatch or _dispatch)(list(arguments))
            if sys.stdout is not None:
                sys.stdout.flush()
        return code
    except BrokenPipeError:
        _drop(sys.stdout)
        return PIPE
    except BadDataError as error:
        _drop_if_broken()
        complain("error", list(_told(error.problems, verbose=verbose)), form)
        return error.exit_code
    except KantoptError as error:
        _drop_if_broken()
        complain("error", [str(error)], form)
        return error.exit_code
    except KeyboardInterrupt:
        return _quit(INTERRUPTED, form)
    except Terminated as error:
        return _quit(error.exit_code, form)
    except OSError as error:
        if error.errno not in _REFUSED:
            return _internal(error, form, verbose=verbose)
        complain("error", [f"the system refuses: {said_of(error)}"], form)
        return SystemRefusesError.exit_code
    except MemoryError:
        complain("error", ["out of memory (MemoryError)"], form)
        return SystemRefusesError.exit_code
    except Exception as error:
        # A compiled module whose loading a signal ends raises an ImportError, and never says why.
        quits = quit_code()
        return _internal(error, form, verbose=verbose) if quits is None else _quit(quits, form)


def _quit(code: int, form: LogForm) -> int:
    """Say of a signal that came before there was an answer why there is none."""
    early = came_early()
    if early is not None:
        complain("error", [str(early)], form)
    return code


def _told(problems: list[Problem], *, verbose: bool) -> Iterator[str]:
    """Tell the first problems of many: a name that is wrong once is mostly wrong of each job."""
    shown = problems if verbose else problems[:MOST_PROBLEMS]
    yield str(BadDataError(_located(shown)))
    if len(shown) < len(problems):
        yield f"and {len(problems) - len(shown):,d} problems more; -v lists them all"


def _located(problems: list[Problem]) -> list[Problem]:
    """Say where in their files problems are, unless that fails."""
    with contextlib.suppress(OSError, MemoryError, KeyboardInterrupt, Terminated):
        from kantopt.schema.places import located

        return located(problems)
    return problems


_REFUSED = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)
"""No more open files, processes or memory are to be had."""


def _internal(error: Exception, form: LogForm, *, verbose: bool) -> int:
    if verbose:
        import traceback

        traceback.print_exc()
    hint = "" if verbose else "; -v shows where"
    text = " ".join(str(error).split())
    complain("error", [f"internal error: {type(error).__name__}: {text}{hint}"], form)
    return INTERNAL


@contextlib.contextmanager
def unless_hung_up(stop: Stop) -> Iterator[None]:
    """Let an answer be lost whose terminal has hung up: the run has files to write after it."""
    try:
        yield
    except StdoutError:
        if stop.signal != signal.SIGHUP:
            raise
        _drop(sys.stdout)


def _dispatch(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        # Asked by scripts in loops: answered before anything is loaded to read options with.
        emit(version_text())
        return 0
    from kantopt.cli.ahead import solver_ahead

    with solver_ahead(arguments) or contextlib.nullcontext() as solver:
        from kantopt.cli.app import dispatch

        return dispatch(arguments, solver)


def _drop_if_broken() -> None:
    """Forget what is left in a stdout that cannot take it, or Python complains at its end."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _drop(sys.stdout)


def _drop(stream: object) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())  # type: ignore[attr-defined]
        os.close(null)
