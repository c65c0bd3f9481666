"""Documents out again: data, JSON, YAML and the digest that names a document."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from kantopt.schema.base import Part

_CONTROL = re.compile("[\x7f-\x9f]")


def dump_data(document: Part) -> dict[str, Any]:
    """Turn a document into plain data, with the names of the schema and without defaults.

    ``apiVersion`` and ``kind`` are always there; the order of keys is that of the schema.
    """
    data: dict[str, Any] = document.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return data


def dump_json(document: Part) -> str:
    """Write a document as JSON, indented by 2, with a line break at the end.

    All control characters are escaped, also those that JSON lets stand and some terminals obey.
    """
    text = document.model_dump_json(indent=2, by_alias=True, exclude_defaults=True)
    if "\x7f" in text or not text.isascii():  # else there is none, which is seen at once
        text = _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return f"{text}\n"


def dump_yaml(document: Part) -> str:
    """Write a document as YAML in block style; reading it gives the same document again."""
    # PyYAML takes its time to load, and is not needed for the digest of a plan.
    from kantopt.schema.yaml.dump import yaml_text

    return yaml_text(dump_data(document))


def canonical_digest(*documents: Part) -> str:
    """Name documents by ``sha256:`` and the hash of their compact JSON with sorted keys.

    Fields that are written out but equal their default do not change the digest.
    """
    return text_digest([dump_data(document) for document in documents])


def text_digest(data: Any) -> str:
    """Name plain data by ``sha256:`` and the hash of its compact JSON with sorted keys."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
