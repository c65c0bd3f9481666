"""The sources as an installation holds them: compiled."""

from __future__ import annotations

import compileall
import shutil
from importlib.util import cache_from_source
from pathlib import Path

import kantopt
from kantopt.schema.extends import models_folder


def compiled_sources(folder: Path) -> Path:
    """Return a folder from which ``kantopt`` is loaded without being compiled anew in each run.

    Whatever installs a package compiles it, and Python keeps what it has compiled to import it.
    Only where that has not happened to each module as it is now, in a checkout of which nobody
    wants caches (``PYTHONDONTWRITEBYTECODE``), every process would begin with half a second of work
    that no user of an installation waits for: there a compiled copy is made.

    Parameters
    ----------
    folder
        Where a copy may be put.
    """
    package = Path(kantopt.__file__).resolve().parent
    if all(map(_is_compiled, package.rglob("*.py"))):
        return package.parent
    copy = folder / "sources" / "kantopt"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    if models_folder() != package / "models":
        shutil.copytree(models_folder(), copy / "models")
    compileall.compile_dir(copy, quiet=1)
    return copy.parent


def _is_compiled(source: Path) -> bool:
    """Whether Python has compiled a module since it was written last."""
    compiled = Path(cache_from_source(str(source)))
    return compiled.is_file() and compiled.stat().st_mtime >= source.stat().st_mtime
