"""Arguments of commands about one job: files in any order, and the job."""

import os

from kantopt.errors import UsageError


def in_namespace(name: str, namespace: str | None) -> str:
    """Return a job's name with a namespace: its own, or the one given if any is."""
    return name if namespace is None or "/" in name else f"{namespace}/{name}"


DOCUMENTS = (".json", ".yaml", ".yml", ".gz")
"""What names of documents end in, and those of jobs and nodes do not."""


def files_and_job(
    arguments: list[str], job: str | None, namespace: str | None, command: str
) -> tuple[list[str], str | None]:
    """Tell the files from the job, if one is named: by an option, or the last that is no file.

    What is called like a document is a file that may be missing. The job is named with a namespace
    if one is given.

    Raises
    ------
    UsageError
        If there is no file.
    """
    if job is not None:
        return arguments, in_namespace(job, namespace)
    named = [i for i, item in enumerate(arguments) if item != "-" and not _is_file(item)]
    if not named:
        return arguments, None
    last = named[-1]
    if len(arguments) == 1:
        raise UsageError(
            f"{command}: found {arguments[last]} alone, which is no file, expected FILE... JOB"
        )
    return arguments[:last] + arguments[last + 1 :], in_namespace(arguments[last], namespace)


def _is_file(argument: str) -> bool:
    """Whether an argument is a file or, though none is there, is called like a document."""
    return argument.endswith(DOCUMENTS) or os.path.exists(argument)
