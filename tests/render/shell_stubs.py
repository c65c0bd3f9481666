"""A shell in which nothing is there but stubs that write down how they were called."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.render.hostile import CANARY

TOOLS = ("kubectl", "scontrol", "squeue", "scancel", "sbatch", "sinfo", "sacctmgr")
_NOBODY = (CANARY, "id", "touch", "rm", "cat", "echo-canary", "sh", "env", "curl")
"""Commands that no script of ours calls."""

_STUB = r"""#!/bin/sh
{ printf '%s\0' "$#" "${0##*/}" "$@"
  case "$*" in *"-f -") /bin/cat ;; esac
  printf '\0'; } >> "$RECORD"
"""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool: its words, and what it was given to read."""

    words: list[str]
    stdin: str


class Shell:
    """Runs scripts in an empty folder, beside stubs and tools that are real."""

    def __init__(self, folder: Path, real: Sequence[str] = ()) -> None:
        self._record = folder / "record"
        self._canary = folder / "canary"
        self._home = folder / "home"
        self._bin = folder / "bin"
        self._home.mkdir(exist_ok=True)
        self._record.unlink(missing_ok=True)
        if not self._bin.exists():
            self._bin.mkdir()
            for name in TOOLS:
                self._stub(name, _STUB)
            for name in _NOBODY:
                self._stub(name, f'#!/bin/sh\nprintf "%s " "$0" "$@" >> {self._canary}\n')
            for name in real:
                (self._bin / name).unlink(missing_ok=True)
                (self._bin / name).symlink_to(shutil.which(name) or name)

    def _stub(self, name: str, text: str) -> None:
        path = self._bin / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def run(self, script: str) -> list[str]:
        """Run a script; return what ran, or was made, that should not, and how else it failed."""
        done = subprocess.run(
            ["/bin/sh"],
            input=script.encode("utf-8", "surrogatepass"),
            capture_output=True,
            cwd=self._home,
            env={"PATH": str(self._bin), "RECORD": str(self._record), "HOME": str(self._home)},
            timeout=60,
            check=False,
        )
        faults = []
        if done.returncode:
            faults.append(f"the script ends with {done.returncode}")
        if done.stderr:
            faults.append(f"the shell says {done.stderr[:200]!r}")
        if self._canary.exists():
            faults.append(f"a command of nobody ran: {self._canary.read_bytes()[:200]!r}")
            self._canary.unlink()
        for path in self._home.iterdir():
            faults.append(f"a file of nobody: {path.name!r}")
            path.unlink()
        return faults

    def calls(self) -> list[Call]:
        """Return the calls of tools, in their order."""
        if not self._record.exists():
            return []
        parts = iter(self._record.read_bytes().decode().split("\0")[:-1])
        calls = []
        for count in parts:
            words = [next(parts) for _ in range(int(count) + 1)]
            calls.append(Call(words, next(parts)))
        return calls
