"""Plain data as YAML that our reader takes for the same."""

from __future__ import annotations

from typing import Any

import yaml

from kantopt.schema.yaml_scalars import resolve

_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_DUMPER):  # type: ignore[misc]
    """Block style, no aliases, and quotes around all that our reader takes for no string."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _string(dumper: Any, text: str) -> Any:
    # PyYAML quotes what its own resolver takes for something else; y, 0o7 and 1e3 are ours.
    style = None if resolve(text) is text else "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _string)


def yaml_text(data: dict[str, Any]) -> str:
    """Write plain data in block style, keys in their order, lines however long."""
    text: str = yaml.dump(
        data,
        Dumper=_Dumper,
        sort_keys=False,
        default_flow_style=False,
        allow_unicode=True,
        width=10**6,
    )
    return text
