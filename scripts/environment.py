"""An environment of the project's own, made with nothing but Python."""

from __future__ import annotations

import os
import shutil
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
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet"]
    pip += ["--disable-pip-version-check", "--constraint", str(CONSTRAINTS)]
    if not (programs / "python").exists() and not (programs / "python.exe").exists():
        print(f"making an environment in {name}", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True)
        # Those that come with older Pythons take twice as long for all that follows, but do it.
        if subprocess.run([*pip, "pip>=25"], cwd=ROOT, check=False).returncode:
            print("no newer pip: the one that is there goes on", file=sys.stderr, flush=True)
    print("installing", *requirements, file=sys.stderr, flush=True)
    run([*pip, *requirements])
    return programs


def system_packages(wanted: dict[str, str]) -> None:
    """Install what Debian has and this machine has not, where that is possible; say what is not.

    Parameters
    ----------
    wanted
        Debian package of each program.
    """
    packages = sorted({package for name, package in wanted.items() if not shutil.which(name)})
    if not packages:
        return
    words = ", ".join(packages)
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        print(f"not installed (needs apt-get and root): {words}", file=sys.stderr, flush=True)
        return
    print(f"installing {words} (apt-get)", file=sys.stderr, flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        done = subprocess.run(["apt-get", "-qq", *command], env=quiet, capture_output=True)
        if done.returncode:
            words = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            print(f"apt-get {command[0]} failed: {words}", file=sys.stderr, flush=True)
            return


def run(command: list[str]) -> None:
    """Run a command in the checkout; leave with its exit code if it fails."""
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code:
        sys.exit(code)
