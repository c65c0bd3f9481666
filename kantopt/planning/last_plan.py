"""The plan of the run before, as a file holds it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from kantopt.errors import BadDataError, Problem
from kantopt.planning.identity import identified
from kantopt.schema.consistency import check_plan
from kantopt.schema.files import parse_documents, read_text
from kantopt.schema.plan import Plan
from kantopt.schema.validation import validate


@dataclass(frozen=True, slots=True)
class LastPlan:
    """The plan before, if there is one that can be used, and what to say if it cannot."""

    plan: Plan | None
    note: str = ""


def read_last_plan(path: str) -> LastPlan:
    """Read the plan of the run before.

    A file that is missing or empty holds none. A plan that cannot be used, of another version of
    kantopt perhaps or changed by hand, is only noted: the run to come replaces it.

    Raises
    ------
    BadDataError
        If the file holds something else: it was named by mistake and must not be replaced.
    MissingInputError
        If it may not be read.
    """
    if not os.path.isfile(path) or os.path.getsize(path) == 0:
        return LastPlan(None)
    try:
        raws = parse_documents(read_text(path), path)
    except BadDataError as error:
        found = error.problems[0].found
        raise BadDataError([Problem(path, "", found, "a plan, or no such file yet")]) from None
    kinds = [raw.data.get("kind") for raw in raws]
    if kinds != ["Plan"] or not str(raws[0].data.get("apiVersion")).startswith("kantopt/"):
        found = ", ".join(map(str, kinds))
        raise BadDataError([Problem(path, "", found, "a plan, or no such file yet")])
    try:
        plan = validate(raws[0], Plan)
        problems = check_plan(plan, path)
    except BadDataError as error:
        problems = error.problems
    if problems:
        return LastPlan(None, f"the last plan cannot be used: {problems[0]}")
    if identified(plan).metadata.plan_id != plan.metadata.plan_id:
        return LastPlan(None, f"the last plan cannot be used: {path} was changed by hand")
    return LastPlan(plan)
