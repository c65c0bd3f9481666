"""The commands together."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import typer

from kantopt.cli.help import GroupedCommand
from kantopt.cli.output import complain, log_form_of
from kantopt.cli.signals import INTERRUPTED
from kantopt.cli.version import version_text
from kantopt.errors import UsageError
from kantopt.schema.garbage import kept

if TYPE_CHECKING:
    from kantopt.planning.solving.solver_process import SolverProcess

COMMANDS = (
    "init",
    "plan",
    "defrag",
    "drain",
    "explain",
    "capacity",
    "certify",
    "verify",
    "metrics",
    "show",
    "convert",
    "trace",
    "render",
    "simulate",
    "models",
    "policies",
    "schema",
)
"""In the order of ``--help``; each is a function of a module that bears its name."""


def command_line(arguments: list[str]) -> typer.Typer:
    """Return what reads these arguments: where the first names a command, that one is enough."""
    app = empty_app()
    asked = arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS
    for name in asked:
        app.command(cls=GroupedCommand)(getattr(import_module(f"kantopt.cli.{name}"), name))
    app.callback()(root)
    return app


def empty_app() -> typer.Typer:
    """Return an app without commands, with the settings of ours."""
    # Plain help: it loads without rich, and is the same in a pipe and on a terminal.
    return typer.Typer(
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version_text(), nl=False)
        raise typer.Exit


def root(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show versions and exit."
    ),
) -> None:
    """Placement, preemption and defragmentation plans for AI clusters, with proof."""


def dispatch(arguments: list[str], solver: SolverProcess | None = None) -> int:
    """Read the arguments, run the command and return its exit code.

    Parameters
    ----------
    arguments
        What follows ``kantopt``.
    solver
        A process that loads the solver meanwhile, for a command that takes one.

    Raises
    ------
    KantoptError
        Whatever the command raises; a command line that cannot be understood is a usage error.
    BrokenPipeError
        If nobody reads standard output any more.
    """
    with kept():  # commands and their options are
        app = command_line(arguments)
    return call(app, "kantopt", arguments, solver)


_COMPLETE = "_KANTOPT_COMPLETE"
"""Set by a shell that asks how a word goes on; the line comes in other variables."""


def call(
    app: typer.Typer, name: str, arguments: list[str], solver: SolverProcess | None = None
) -> int:
    """Let an app of this name read the arguments and run; raises what :func:`dispatch` does."""
    try:
        if not arguments and _COMPLETE not in os.environ:
            # Help on stderr: it was not asked for, and nothing was done.
            with contextlib.redirect_stdout(sys.stderr):
                app(["--help"], prog_name=name, standalone_mode=False)
            return UsageError.exit_code
        code = app(arguments, prog_name=name, standalone_mode=False, obj=solver)
    except typer.TyperException as error:
        # What reads a choice puts its own word for a wrong one in front.
        message = " ".join(error.format_message().split()).replace("Value error, ", "", 1)
        context = getattr(error, "ctx", None)
        command = name if context is None else context.command_path
        complain("error", [f"{message} (see {command} --help)"], log_form_of(arguments))
        return UsageError.exit_code
    except typer.Abort:
        return INTERRUPTED
    except SystemExit as error:
        # Typer meets a closed pipe with this, whatever mode it runs in.
        cause = error.__context__
        if isinstance(cause, OSError) and cause.errno == errno.EPIPE:
            raise BrokenPipeError from None
        code = error.code
    return code if isinstance(code, int) else 0
