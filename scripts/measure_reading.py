"""How long it takes to read a dump of many pods: as YAML in several ways, and as JSON.

CPU seconds from the text to Python data, one reading of each. PyYAML with libyaml is what most
programs read YAML with; a large part of its time is Python's search for garbage, without which it
is measured as well. Only its times are compared: dates and octal numbers it does not read as
``kubectl`` means them.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable
from typing import Any

import yaml
from kubectl_pods import as_yaml, pods

from kantopt.schema.files import parse_documents
from kantopt.schema.garbage import kept
from kantopt.schema.yaml.block import read_block_yaml
from kantopt.schema.yaml.text import parse_yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(text: str) -> Any:
    """Read as most programs do."""
    return yaml.load(text, Loader=_LOADER)


def measured(read: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a reading, and what was read."""
    start = time.process_time()
    document = read()
    return time.process_time() - start, document


def main() -> None:
    """Print one row per way of reading."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pods", type=int, default=5000)
    document = pods(arguments.parse_args().pods)
    text = as_yaml(document)
    data, json_data = text.encode(), json.dumps(document).encode()
    print(f"{len(data) / 1e6:.1f} MB of YAML, {text.count(chr(10))} lines")
    if read_block_yaml(text) is None:
        raise SystemExit("the fast way does not know a line of this")
    # What is there already is not to be searched while others are measured.
    gc.collect()
    gc.freeze()
    first = 0.0
    loader = f"yaml.{_LOADER.__name__}"
    for name, read, ours in (
        (loader, lambda: load(text), False),
        (f"{loader}, no search", lambda: kept()(load)(text), False),
        ("kantopt, any YAML", lambda: parse_yaml(text, "pods.yaml")[0], True),
        ("kantopt", lambda: parse_documents(data, "pods.yaml")[0].data, True),
        ("kantopt, JSON", lambda: parse_documents(json_data, "pods.json")[0].data, True),
    ):
        seconds, found = measured(read)
        if ours and found != document:
            raise SystemExit(f"{name}: this is not what was written")
        del found
        first = first or seconds
        print(f"{name:28} {seconds:8.2f} s {first / seconds:8.1f} times as fast", flush=True)
    gc.unfreeze()


if __name__ == "__main__":
    main()
