"""The ``kubectl`` that tests run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

MINOR = "1.33"
"""The version of Kubernetes that the API server of the tests is of."""


def quick_kubectl(folder: Path) -> dict[str, str]:
    """Return what an environment needs for a ``kubectl`` without detours.

    That of Google Cloud asks the server for its version before each command and then starts the
    ``kubectl`` of that version, beside it: it is taken at once. None lives so long that collecting
    garbage pays.
    """
    path = os.environ["PATH"]
    dispatcher = Path(shutil.which("kubectl") or "kubectl").resolve()
    own = dispatcher.with_name(f"kubectl.{MINOR}")
    if own.exists():
        link = folder / "kubectl-itself" / "kubectl"
        link.parent.mkdir(exist_ok=True)
        if not link.exists():
            link.symlink_to(own)
        path = f"{link.parent}{os.pathsep}{path}"
    return {"PATH": path, "GOGC": "off"}
