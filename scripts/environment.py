"""An environment of the project's own, made with nothing but Python."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / ".ci" / "constraints.txt"


def make(name: str, *requirements: str) -> Path:
    """Make a virtual environment in the checkout if need be and install into it.

    Parameters
    ----------
    name
        Folder of the environment, below the checkout.
    requirements
        What to install, as pip has it, run from the checkout.

    Returns
    -------
    Path
        Folder of the environment's programs.
    """
    if sys.version_info < (3, 11):  # noqa: UP036 - runs before pip could say so
        sys.exit(f"kantopt needs Python 3.11 or newer; this is {sys.version.split()[0]}")
    folder = ROOT / name
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    if not (programs / "python").exists() and not (programs / "python.exe").exists():
        print(f"making an environment in {name}", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True)
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet"]
    pip += ["--disable-pip-version-check", "--constraint", str(CONSTRAINTS)]
    print("installing", *requirements, file=sys.stderr, flush=True)
    run([*pip, *requirements])
    return programs


def run(command: list[str]) -> None:
    """Run a command in the checkout; leave with its exit code if it fails."""
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code:
        sys.exit(code)
