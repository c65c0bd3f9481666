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


class _OneLine(_Dumper):
    """Strings that a line cannot show as they are stand in double quotes, on one line."""


def _one_line(dumper: Any, text: str) -> Any:
    if text.isascii() and text.isprintable():
        return _string(dumper, text)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')


_OneLine.add_representer(str, _one_line)


def yaml_text(data: dict[str, Any], *, ascii_only: bool = False) -> str:
    """Write plain data in block style, keys in their order, lines however long.

    With ``ascii_only`` all else is escaped and no string goes over several lines, so that nobody
    who reads the text meets a character that it does not show.
    """
    text: str = yaml.dump(
        data,
        Dumper=_OneLine if ascii_only else _Dumper,
        sort_keys=False,
        default_flow_style=False,
        allow_unicode=not ascii_only,
        width=10**6,
    )
    return text
