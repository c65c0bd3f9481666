"""``kantopt init``."""

import os
import re
from datetime import datetime, timedelta
from typing import Annotated

import typer

from kantopt.cli import options as opt
from kantopt.cli.output import complain, emit
from kantopt.errors import CannotCreateError

FILES = {"snapshot.yaml": "cluster.yaml", "jobs.yaml": "jobs.yaml"}
"""What is copied, under which name."""
_TAKEN = datetime.fromisoformat("2026-09-01T03:00:00Z")
"""Moment of the snapshot as it is shipped."""
_TIME = re.compile(r'"(\d{4}-\d\d-\d\dT[\d:]+Z)"')


def init(
    folder: Annotated[
        str, typer.Argument(metavar="[FOLDER]", help="Where to; it is made if need be.")
    ] = ".",
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
) -> int:
    """Write a commented example to begin with: a cluster and jobs.

    The snapshot is of now, for runs that refuse old ones. Overwrites nothing. Exit codes: 0
    written, 73 cannot create (something is there already).
    """
    from kantopt.clock import utc_now
    from kantopt.schema.extends import shipped_folder
    from kantopt.schema.writing import make_folder, write_atomic

    paths = {name: os.path.join(folder, target) for name, target in FILES.items()}
    for path in paths.values():
        if os.path.lexists(path):
            raise CannotCreateError(f"{path}: cannot be written: it is there already")
    make_folder(folder)
    since = utc_now() - _TAKEN
    for name, path in paths.items():
        lines = (shipped_folder("instances/quickstart") / name).read_text("utf-8").splitlines(True)
        # Where the schema lies is another place here; `kantopt schema` prints it.
        text = "".join(line for line in lines if not line.startswith("# yaml-language-server"))
        for old, new in FILES.items():
            text = text.replace(old, new)
        text = _TIME.sub(lambda found: _later(found[1], since), text)
        write_atomic(path, text.encode())
    emit("".join(f"{path}\n" for path in paths.values()))
    if not quiet:
        command = f"kantopt plan {' '.join(paths.values())}"
        complain("note", [f"next: {command}", "all fields: kantopt schema KIND"])
    return 0


def _later(written: str, by: timedelta) -> str:
    from kantopt.clock import rfc3339

    return f'"{rfc3339(datetime.fromisoformat(written) + by)}"'
