"""Arguments of commands about one job: files in any order, and the job."""

import os

from kantopt.errors import UsageError


def in_namespace(name: str, namespace: str | None) -> str:
    """Return a job's name with a namespace: its own, or the one given if any is."""
    return name if namespace is None or "/" in name else f"{namespace}/{name}"


def files_and_job(
    arguments: list[str], job: str | None, command: str
) -> tuple[list[str], str | None]:
    """Tell the files from the job, if one is named: the last argument that is no file.

    Raises
    ------
    UsageError
        If there is no file.
    """
    if job is not None:
        return arguments, job
    named = [i for i, item in enumerate(arguments) if item != "-" and not os.path.exists(item)]
    if not named:
        return arguments, None
    last = named[-1]
    if len(arguments) == 1:
        raise UsageError(
            f"{command}: found {arguments[last]} alone, which is no file, expected FILE... JOB"
        )
    return arguments[:last] + arguments[last + 1 :], arguments[last]
