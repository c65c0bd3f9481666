"""A plan for ``kubectl``: requests, one a line, or a script that carries them out.

Nothing here talks to a cluster: what is written is for a person or a program to review and send.
"""

from __future__ import annotations

import json

from kantopt.render.kube.fates import Fates
from kantopt.render.kube.requests import requests_of
from kantopt.render.kube.script import script_of
from kantopt.render.targets import Asked, Rendered
from kantopt.schema.answers.plan import Plan


def render(plan: Plan, asked: Asked) -> Rendered:
    """Render a plan as JSON, one request a line, or as a shell script.

    Raises
    ------
    UsageError
        If a gate is named that holds nothing back, or pods were evicted for others that cannot
        be bound.
    """
    fates = Fates(plan, asked)
    fates.check_not_in_vain()
    requests = requests_of(plan, fates)
    if asked.shell:
        text = script_of(plan, fates, requests)
    else:
        text = "".join(f"{json.dumps(item)}\n" for item in requests)
    return Rendered(text, tuple(fates.notes()))
