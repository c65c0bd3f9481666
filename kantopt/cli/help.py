"""Help of a command: options in groups, and examples at the end.

It is plain text, the same in a pipe and on a terminal, and loads without rich.
"""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand

GROUPS: dict[str, tuple[str, ...]] = {
    "Search": (
        "time_limit",
        "memory_limit",
        "engine",
        "strategy",
        "seed",
        "deterministic",
        "workers",
        "without",
    ),
    "Reading a cluster": ("namespace", "gated", "pending", "topology", "disturb", "assume"),
    "Carrying it out": ("max_moves_per_wave", "bandwidth", "now"),
    "On a schedule": (
        "detailed_exitcode",
        "log_format",
        "lock_file",
        "max_snapshot_age",
        "last_plan",
        "metrics_file",
    ),
    "Answer": ("output", "output_file", "color", "quiet", "verbose", "help"),
}
"""Options that several commands have, by what they are about and in order; others come first."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "init": ("kantopt init first && kantopt plan first/cluster.yaml first/jobs.yaml",),
    "plan": (
        "kantopt plan cluster.json                            # all that waits",
        "kantopt plan cluster.json --pending 'team-a/*'       # only these jobs",
        "kantopt plan cluster.json --for team-a/llm-8         # room for this one",
        "kantopt plan cluster.json jobs.yaml -m training --time-limit 60s -O plan.json",
    ),
    "defrag": (
        "kantopt defrag cluster.json --goal empty-nodes=+2",
        "kantopt defrag cluster.json --goal fit=team-a/llm-8 --max-moves 20",
        "kantopt defrag cluster.json --goal fragment-rate=nvidia.com/gpu:8",
    ),
    "drain": ("kantopt drain gpu-017 'rack-3-*' -f cluster.json",),
    "explain": (
        "kantopt explain cluster.json -n team-a llm-8",
        "kantopt explain cluster.json team-a/llm-8 --what-if add-nodes=gpu-11:2",
    ),
    "capacity": ("kantopt capacity cluster.json --gpus 8 --pods 4 --required rack",),
    "certify": (
        "kantopt certify cluster.json --plan plan.json -O certificate.yaml",
        "kantopt certify cluster.json --after later.json",
    ),
    "verify": (
        "kantopt verify cluster.json plan.json",
        "kantopt verify plan.json --against now.json          # what can still be done",
        "kantopt verify --certificate certificate.yaml cluster.json",
    ),
    "metrics": ("kantopt metrics cluster.json plan.json",),
    "show": ("kantopt show plan.json -o wide",),
    "convert": ("kantopt convert --from kubernetes cluster.json -O cluster.yaml",),
    "render": (
        "kantopt render cluster.json plan.json --to svg -O plan.svg",
        "kantopt render plan.json --to kubectl --shell -O plan.sh",
    ),
    "simulate": ("kantopt simulate cluster.yaml trace.yaml --policy fifo --policy e-binpack",),
    "trace": ("kantopt trace --nodes 250 -O trace.yaml",),
    "models": ("kantopt models training",),
    "policies": ("kantopt policies e-binpack",),
    "schema": ("kantopt schema ClusterSnapshot",),
}


def _placeholder(argument: Any) -> str:
    """What stands for an argument: ``FILE...`` for several, ``[FOLDER]`` where none is needed."""
    name: str = argument.metavar or (argument.name or "").upper()
    return name if argument.nargs == 1 or "..." in name else f"{name}..."


class GroupedCommand(TyperCommand):
    """A command whose help lists its options by what they are about, and ends with examples."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the command's name in its usage: no brackets around brackets."""
        pieces = [self.options_metavar] if self.options_metavar else []
        arguments = (each for each in self.get_params(ctx) if each.param_type_name == "argument")
        return [*pieces, *map(_placeholder, arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, the command's own options, then those of each group."""
        group_of = {name: title for title, names in GROUPS.items() for name in names}
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        sections |= {title: [] for title in GROUPS}
        order = {name: i for i, name in enumerate(group_of)}
        for param in sorted(self.get_params(ctx), key=lambda each: order.get(each.name or "", -1)):
            record = param.get_help_record(ctx)
            if record is not None:
                name, text = record
                # Words in the place of a default come in parentheses.
                text = re.sub(r"\[default: \(([^()]*)\)", r"[default: \1", text)
                if param.param_type_name == "argument":
                    sections["Arguments"].append((_placeholder(param), text))
                else:
                    sections[group_of.get(param.name or "", "Options")].append((name, text))
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples as they are: a command that is wrapped cannot be copied."""
        examples = EXAMPLES.get(self.name or "", ())
        if examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for line in examples))
