"""Reference of the fields of documents, one page for each kind, made of the published schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from kantopt.schema.published import PUBLISHED, published_schema
from scripts.pages.markdown import plain

FOLDER = "reference/documents"
_FORMS = {"quantity": "Quantity", "duration": "Duration", "time": "Timestamp"}
_SAID = {
    *("$ref", "additionalProperties", "anyOf", "const", "default", "description", "enum"),
    *("examples", "format", "items", "maxItems", "maxLength", "maximum", "minItems", "minLength"),
    *("minimum", "pattern", "prefixItems", "propertyNames", "type"),
}
"""What these pages can say of a schema."""

Schema = dict[str, Any]


def field_pages() -> Iterator[tuple[str, str]]:
    """Give the path and the text of each page."""
    yield f"{FOLDER}/index.md", _overview()
    for kind in PUBLISHED:
        yield f"{FOLDER}/{kind}.md", _page(kind)


def _overview() -> str:
    lines = [
        "# Documents",
        "",
        "All fields of all documents, made of their JSON Schemas (`kantopt schema KIND`). They are "
        "written as here; unknown ones are errors, and no value is converted.",
        "",
        "| kind | is |",
        "|---|---|",
    ]
    for kind in PUBLISHED:
        lines.append(f"| [{kind}]({kind}.md) | {plain(published_schema(kind)['description'])} |")
    lines += ["", "## Forms", "", "| form | is | for example |", "|---|---|---|"]
    for name, schema in forms().items():
        examples = ", ".join(f"`{example}`" for example in schema["examples"])
        lines.append(f'| <a id="{name}"></a>{name} | {plain(schema["description"])} | {examples} |')
    return "\n".join([*lines, ""])


def forms() -> dict[str, Schema]:
    """Schemas of quantities, durations and times, by what they are called."""
    from pydantic import TypeAdapter

    import kantopt.schema.base

    return {
        word: TypeAdapter(getattr(kantopt.schema.base, name)).json_schema()
        for word, name in _FORMS.items()
    }


def _page(kind: str) -> str:
    schema = published_schema(kind)
    parts: dict[str, Schema] = schema.get("$defs", {})
    lines = [f"# {kind}", "", schema["description"], "", *_table(schema)]
    for name in _in_order(schema, parts):
        lines += ["", f"## {name}", "", *_part(parts[name])]
    return "\n".join([*lines, ""])


def _in_order(schema: Schema, parts: dict[str, Schema]) -> list[str]:
    """Names of the parts, those of an outer one before those of inner ones."""
    found: list[str] = []
    todo = [schema]
    while todo:
        for name in _references(todo.pop(0)):
            if name not in found:
                found.append(name)
                todo.append(parts[name])
    return found


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].rpartition("/")[2]
        for key, value in schema.items():
            if key != "$defs":
                yield from _references(value)
    elif isinstance(schema, list):
        for each in schema:
            yield from _references(each)


def _part(schema: Schema) -> list[str]:
    """Say what a part is: fields, or in how many ways it can be written."""
    lines = [schema.get("description", ""), ""]
    if "properties" in schema:
        return lines + _table(schema)
    ways = [way for way in schema.get("anyOf", [schema]) if "properties" not in way]
    lines.append("One of: " + "; ".join(_words(way) for way in ways) + ".")
    for way in schema.get("anyOf", []):
        if "properties" in way:
            lines += ["", "Or a mapping with exactly one of these:", "", *_table(way, one=True)]
    return lines


def _table(schema: Schema, *, one: bool = False) -> list[str]:
    """Write a row for each field; ``one``: of fields that exclude each other."""
    if not schema.get("properties"):
        return ["It has no fields: `{}`."]
    required = schema.get("required", ())
    lines = ["| field | holds | default | meaning |", "|---|---|---|---|"]
    for name, field in schema["properties"].items():
        if one:
            default = ""
        elif name in required:
            default = "**required**"
        else:
            default = _default(field.get("default"))
        meaning = plain(field.get("description", ""))
        lines.append(f"| `{name}` | {_words(field)} | {default} | {meaning} |")
    return lines


def _default(value: Any) -> str:
    return "none" if value in (None, "") else f"`{json.dumps(value, ensure_ascii=False)}`"


def _words(schema: Schema) -> str:
    """Say what a value may be.

    Raises
    ------
    ValueError
        If the schema has a keyword of which nothing would be said.
    """
    if unknown := set(schema) - _SAID:
        raise ValueError(f"no words for {sorted(unknown)}")
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        ways = [way for way in schema["anyOf"] if way != {"type": "null"}]
        return " or ".join(_words(way) for way in ways)
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "pattern" in schema:
        return _form(schema)
    return _BY_TYPE[schema["type"]](schema)


def _form(schema: Schema) -> str:
    for name, form in forms().items():
        if schema["pattern"] == form["pattern"]:
            return f"[{name}](index.md#{name})"
    return f"string of the form `{schema['pattern']}`"


def _string(schema: Schema) -> str:
    most = schema.get("maxLength")
    if most is not None:
        return f"string, {schema.get('minLength', 0)} to {most} characters"
    return "string, not empty" if schema.get("minLength") else "string"


def _number(word: str, schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None and most is None:
        return word
    return f"{word}, {_limits(least, most)}"


def _limits(least: int | None, most: int | None) -> str:
    if most is None:
        return f"at least {least}"
    return f"at most {most}" if least is None else f"{least} to {most}"


def _list(schema: Schema) -> str:
    if "prefixItems" in schema:
        return "list of " + ", then ".join(_words(item) for item in schema["prefixItems"])
    least = schema.get("minItems")
    count = f", at least {least}" if least else ""
    return f"list of {_words(schema['items'])}{count}"


def _mapping(schema: Schema) -> str:
    inner = schema.get("additionalProperties")
    if not isinstance(inner, dict):
        return "mapping"
    names = schema.get("propertyNames")  # they are strings, which it need not say
    limits = f" ({_words({'type': 'string', **names})})" if names else ""
    return f"mapping of names{limits} to {_words(inner)}"


_BY_TYPE: dict[str, Callable[[Schema], str]] = {
    "string": _string,
    "integer": lambda schema: _number("integer", schema),
    "number": lambda schema: _number("number", schema),
    "boolean": lambda schema: "true or false",
    "array": _list,
    "object": _mapping,
}
