"""Write the generated instances of ``instances/`` and what is known of their optima.

Run ``python scripts/make_instances.py`` after a change; a test fails if the files differ.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from known_instances import Known, Line, Mapping, all_known
from known_metrics import decided_by_metrics
from known_reports import reported

INSTANCES = Path(__file__).parent.parent / "instances"


class _Dumper(yaml.SafeDumper):
    """Mappings of scalars on one line, no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(
    Line, lambda dumper, line: dumper.represent_mapping("tag:yaml.org,2002:map", line, True)
)


def dump(data: Any, *, flow: bool | None = None) -> str:
    """Return YAML; by default the innermost mappings and lists are on one line each."""
    text: str = yaml.dump(
        data, Dumper=_Dumper, sort_keys=False, width=10**6, default_flow_style=flow
    )
    return text


def document(kind: str, comment: str, **fields: Any) -> str:
    lines = [f"# {line.strip()}" for line in comment.strip().splitlines()]
    schema = f"../../kantopt/schema/json/{kind}.v1alpha1.json"
    head = [f"# yaml-language-server: $schema={schema}", *lines]
    body = dump({"apiVersion": "kantopt/v1alpha1", "kind": kind, **fields})
    return "\n".join(head) + "\n" + body


def write_up(known: Known) -> str:
    """Return an instance as one file of three documents."""
    meta = Line(name=known.name)
    rows = [Line(name=name, nodeLabel=label) for name, label in known.levels]
    topology = {"topology": {"levels": rows}} if rows else {}
    running = {"jobs": list(known.running)} if known.running else {}
    required = {"required": list(known.required)} if known.required else {}
    snapshot = document(
        "ClusterSnapshot",
        known.comment,
        metadata=meta,
        **topology,
        nodes=list(known.nodes),
        **running,
        **known.snapshot,
    )
    jobs = document("JobList", "", metadata=meta, jobs=list(known.pending))
    model = document(
        "Model", "", metadata=meta, objectives=list(known.objectives), **required, **known.model
    )
    return "---\n".join((snapshot, jobs, model))


def files() -> dict[Path, str]:
    """Return the text of every generated file, by path."""
    listed = [*all_known(), *reported(), *decided_by_metrics()]
    written = {INSTANCES / known.folder / f"{known.name}.yaml": write_up(known) for known in listed}
    table: Mapping = {}
    for known in listed:
        if known.folder == "golden":
            table[known.name] = {"tiers": known.tiers}
            if known.placement:
                places = {name: Line(pods) for name, pods in known.placement.items()}
                table[known.name] |= {"label": known.label, "placement": places}
    head = (
        "# Optimal values of the tiers, in their order, and the places that every optimum shares.\n"
    )
    written[INSTANCES / "golden" / "expected.yaml"] = head + dump(table, flow=False)
    return written


def main() -> None:
    for path, text in sorted(files().items()):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
