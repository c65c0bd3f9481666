"""Run a command and say how long it took, how much memory it had and how it ended.

Started by path in an interpreter of its own that imports nothing: a process begins with the peak
memory of the one that started it, so a large one would hide what its children need.
"""

from __future__ import annotations

import os
import sys
import time


def main(arguments: list[str]) -> None:
    """Run ``arguments[3:]``; its stdout and stderr go to two files, the figures to a third."""
    report, out, err, *command = arguments
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, out, flags, 0o600),
        (os.POSIX_SPAWN_OPEN, 2, err, flags, 0o600),
    ]
    began = time.monotonic()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=files)
    # The peak is that of the largest process among the child and those it has waited for.
    _, status, usage = os.wait4(pid, 0)
    wall = time.monotonic() - began
    code = os.waitstatus_to_exitcode(status)
    with open(report, "w", encoding="ascii") as file:
        file.write(f"{wall:.6f} {usage.ru_maxrss} {code} {usage.ru_utime + usage.ru_stime:.3f}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
