"""The commands together."""

from __future__ import annotations

import contextlib
import errno
import sys

import typer

from kantopt.cli.bench import bench
from kantopt.cli.certify import certify
from kantopt.cli.convert import convert
from kantopt.cli.defrag import defrag
from kantopt.cli.explain import explain
from kantopt.cli.metrics import metrics
from kantopt.cli.models import models
from kantopt.cli.output import complain, log_form_of
from kantopt.cli.plan import plan
from kantopt.cli.render import render
from kantopt.cli.schema import schema
from kantopt.cli.signals import INTERRUPTED
from kantopt.cli.verify import verify
from kantopt.cli.version import version_text
from kantopt.errors import UsageError

# Plain help: it loads without rich, and is the same in a pipe and on a terminal.
app = typer.Typer(
    name="kantopt",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for command in (
    plan,
    defrag,
    explain,
    certify,
    verify,
    metrics,
    convert,
    render,
    models,
    schema,
    bench,
):
    app.command()(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version_text(), nl=False)
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show versions and exit."
    ),
) -> None:
    """Placement, preemption and defragmentation plans for AI clusters, with proof."""


def dispatch(arguments: list[str]) -> int:
    """Read the arguments, run the command and return its exit code.

    Raises
    ------
    KantoptError
        Whatever the command raises; a command line that cannot be understood is a usage error.
    BrokenPipeError
        If nobody reads standard output any more.
    """
    try:
        if not arguments:
            # Help on stderr: it was not asked for, and nothing was done.
            with contextlib.redirect_stdout(sys.stderr):
                app(["--help"], prog_name="kantopt", standalone_mode=False)
            return UsageError.exit_code
        code = app(arguments, prog_name="kantopt", standalone_mode=False)
    except typer.TyperException as error:
        # What reads a choice puts its own word for a wrong one in front.
        message = " ".join(error.format_message().split()).replace("Value error, ", "", 1)
        complain("error", [f"{message} (see kantopt --help)"], log_form_of(arguments))
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
