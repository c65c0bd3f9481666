"""Write the JSON Schemas of the documents to ``kantopt/schema/json``."""

from __future__ import annotations

import json
from pathlib import Path

import kantopt.schema
from kantopt.schema.published import PUBLISHED, published_schema


def main() -> None:
    """Rewrite every schema."""
    folder = Path(kantopt.schema.__file__).parent / "json"
    folder.mkdir(exist_ok=True)
    for kind in PUBLISHED:
        text = json.dumps(published_schema(kind), indent=2, ensure_ascii=False) + "\n"
        (folder / f"{kind}.v1alpha1.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
