"""Strings that want to be more than a name, in every string field of plans and clusters."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from kantopt.planning.question import Question, judging_model
from kantopt.schema.answers.plan import (
    BudgetRef,
    CutStep,
    Goal,
    NodeRef,
    Plan,
    SnapshotRef,
    Standing,
    Tier,
    Unplaced,
)
from kantopt.schema.base import API_VERSION
from kantopt.schema.jobs import Job
from kantopt.schema.snapshot import (
    ClusterSnapshot,
    Node,
    SnapshotMetadata,
    Taint,
    Topology,
    TopologyLevel,
)
from tests.render.plans import draw_plan

CANARY = "kantopt-canary"
"""A command that nothing may run; there is one of that name where scripts are tried."""
CANARY_FILE = "kantopt-canary-file"
"""A file that nothing may make."""

_SHELL = (
    f"$({CANARY})",
    f"`{CANARY}`",
    f"'; {CANARY} #",
    f'"; {CANARY} #',
    f"\n{CANARY}\n",
    f"\r\n{CANARY}\r\n",
    f"\nEOF\n{CANARY}\n",
    f"\n---\nEND\n{CANARY}",
    f"&& {CANARY}",
    f"| {CANARY}",
    f"; > {CANARY_FILE};",
    f"\n: > {CANARY_FILE}\n",
    f"${{IFS}}{CANARY}",
    "$HOME",
    "${PATH}",
    "$'\\n'",
    "$((1/0))",
    "\\",
    "'",
    '"',
    "!!",
    "~",
    "*",
    "?",
    "[a-z]",
    "{a,b}",
    "%s%n",
    "\\n\\000",
    "-rf",
    "--all",
    "--kubeconfig=x",
    "@file",
    "exit 0",
    "\nexit 0\n",
)
_YAML = (
    "---",
    "\n---\nkind: Pod\n",
    "\n...\n",
    ": ",
    "- a",
    "? b",
    " #",
    "&a",
    "*a",
    "!!python/object/apply:os.system [id]",
    "<<",
    "{}",
    "[]",
    "null",
    "~",
    "yes",
    "no",
    "on",
    "y",
    "0x10",
    "0o7",
    "1e3",
    "1_000",
    "12:30:45",
    "2026-09-01",
    ".inf",
    "=",
    "%YAML 1.2",
    "|",
    ">-",
    "\t",
    " ",
    "\u2028",
    "\u2029",
    "\u0085",
    "\ufeff",
)
_MARKUP = (
    "<script>alert(1)</script>",
    "</script>",
    "</title></svg><rect onload='x'/>",
    '"><a href="javascript:x">',
    "]]>",
    "<!--",
    "-->",
    "&amp;",
    "&#0;",
    "&lol;",
    "<?xml?>",
    "url(#x)",
    "{{ 7*7 }}",
    "{% raw %}",
    "${7*7}",
    "\\u003c/script",
)
_TERMINAL = (
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\x08\x08",
    "\r",
    "\x7f",
    "\u202e",
    "\u2066",
    "\u200b",
    "\u200e",
    "\ud7ff",
    "\ufffe",
    "\U0001f600",
    "\U000e0041",
    "\u00e9",
    "e\u0301",
    "\x01",
    "\x0b",
    "\x0c",
    "\x1f",
)
_PLAIN = ("a", "pod-0", "gpu-001", "team/b", "..", "/", "x" * 60)
NUL = "\0"
"""What no argument of a command can hold."""


class Strings:
    """Draws strings; the same for the same generator."""

    def __init__(self, rng: random.Random, *, nul: bool = True) -> None:
        self._rng = rng
        self._parts = (_SHELL, _YAML, _MARKUP, _TERMINAL, _PLAIN, (NUL,) if nul else _PLAIN)

    def __call__(self) -> str:
        """Draw one, of one to four pieces."""
        rng = self._rng
        count = rng.choice((1, 1, 2, 2, 3, 4))
        pieces = [rng.choice(rng.choice(self._parts)) for _ in range(count)]
        if rng.random() < 0.1:
            pieces.append("".join(chr(rng.randrange(1, 0xD800)) for _ in range(4)))
        return "".join(pieces)[:200]


def unprintable(text: str) -> list[str]:
    """Find lines that a terminal might obey."""
    lines = (line for line in text.split("\n") if not line.isprintable())
    return [f"a line does not print: {line!r}" for line in lines]


Drawing = Callable[[random.Random], Callable[[], str]]
"""Makes what draws strings."""


def without_nul(rng: random.Random) -> Callable[[], str]:
    """Draw strings that arguments of a command can hold."""
    return Strings(rng, nul=False)


def harmless(rng: random.Random) -> Callable[[], str]:
    """Draw names as they should be."""
    return lambda: f"zz{rng.randrange(10**9)}"


def hostile_plan(seed: int, strings: Drawing = Strings) -> Plan:
    """Draw a plan, with what no renderer of actions looks at as well."""
    rng = random.Random(f"hostile {seed}")
    text = strings(rng)
    plan = draw_plan(rng, text)
    snapshot = SnapshotRef(
        digest=text(),
        name=text(),
        captured_at=plan.metadata.snapshot.captured_at,
        resource_version=text(),
    )
    metadata = plan.metadata.model_copy(
        update={"name": text(), "kantopt_version": text(), "snapshot": snapshot}
    )
    objective = text()
    goal = Goal(
        objective=objective, text=text(), unit="nodes", more_is_better=True, before=0, after=1
    )
    tier = Tier(
        name=objective,
        metric=text(),
        unit=text(),
        before=3,
        value=2,
        bound=1,
        status="FEASIBLE",
        proved_by="cp-sat",
    )
    return plan.model_copy(
        update={
            "metadata": metadata,
            "warnings": (text(), text()),
            "goals": (goal,),
            "objectives": (tier,),
            "nodes": (NodeRef(name=text(), uid=text(), resource_version=text()),),
            "budgets": (BudgetRef(name=text(), uid=text()),),
            "unplaced": (
                Unplaced(job=text(), priority=0, pods=1, wanted=2, rule=text(), message=text()),
            ),
            "cut": (
                CutStep(id=text(), wave=1, job=text(), pod_set=text(), rule=text(), message=text()),
            ),
            "pre_existing": (Standing(rule=text(), subject=text(), message=text()),),
        }
    )


def hostile_question(seed: int, strings: Drawing = Strings) -> Question:
    """Draw a cluster, and mostly a plan for it."""
    plan = hostile_plan(seed, strings)
    rng = random.Random(f"hostile cluster {seed}")
    text = strings(rng)
    level = text()
    names = {item.node for item in (*plan.assignments, *plan.evictions)}
    names |= {node for item in plan.moves for node in (item.from_node, item.to_node)}
    nodes = tuple(
        Node(
            name=name,
            uid=text(),
            labels={level: text(), text(): text(), "nvidia.com/gpu.product": text()},
            taints=(Taint(key=text(), value=text(), effect="PreferNoSchedule"),),
            allocatable={"cpu": 64, "nvidia.com/gpu": 64, "pods": 110, text(): 3},
            unschedulable=rng.random() < 0.2,
        )
        for name in sorted(names)
    )
    snapshot = ClusterSnapshot(
        api_version=API_VERSION,
        kind="ClusterSnapshot",
        metadata=SnapshotMetadata(name=text()),
        topology=Topology(levels=(TopologyLevel(name=text(), node_label=level),)),
        nodes=nodes,
        jobs=tuple(job for job in plan.jobs if _runs(job)),
    )
    pending = tuple(job for job in plan.jobs if not _runs(job))
    question = Question(
        source=text(), snapshot=snapshot, pending=pending, model=None, plan=None, notes=()
    )
    if rng.random() < 0.2:
        return question
    model = judging_model(question, None)
    return replace(question, plan=plan.model_copy(update={"model": model}))


def _runs(job: Job) -> bool:
    return any(item.assignments for item in job.pod_sets)
