"""Node lists that a script of ours has given a job, and what the job had asked for before.

``kantopt/render/slurm.sh`` keeps that in the job's AdminComment, as
``kantopt:PLAN:LIST=NODES:HOWMANY:PRIORITY``; who runs where a plan put it has not asked for it.
"""

from __future__ import annotations

import re
from dataclasses import replace

from kantopt.formats.slurm.records import Record

_MARK = re.compile(r"kantopt:[^:\s]*:(ReqNodeList|ExcNodeList)=([^:\s]*):", re.ASCII)


def unpinned(record: Record) -> Record:
    """Return the record of a job with the node lists that its user has given it."""
    # In one-liners a mark that follows another comment looks like a field.
    words = (f"{key}={value}" for key, value in record.fields.items() if "kantopt:" in key + value)
    match = _MARK.search(" ".join(words))
    if match is None:
        return record
    return replace(record, fields={**record.fields, match[1]: match[2]})
