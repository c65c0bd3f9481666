#!/usr/bin/env python3
"""Beside the real kube-scheduler: which pending pod may go to which node of recorded dumps.

    python scripts/kube_verdicts.py [FILE]     # default: $KANTOPT_DATA/kube_scheduler/...

Prints one table. Exits with 1 if the two disagree on any pair, but for policies of ours by which
we differ on purpose.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.kube_verdicts import FILE, tally


def main() -> int:
    """Compare and print."""
    data = os.environ.get("KANTOPT_DATA", "")
    if len(sys.argv) < 2 and not data:
        print(f"name a file, or the folder of {FILE} as KANTOPT_DATA", file=sys.stderr)
        return 64
    told = tally(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(data) / FILE)
    lines: list[tuple[str, int, str]] = [
        ("dumps", told.dumps, ""),
        ("pairs of pod and node", told.pairs, ""),
        ("both allow", told.both_allow, ""),
        ("both refuse", told.both_refuse, ""),
    ]

    def each(title: str, counts: Counter[str]) -> None:
        lines.extend(
            (f"{title}: {cause}", n, told.first.get(cause, "")) for cause, n in counts.most_common()
        )

    each("refused on purpose", told.on_purpose)
    each("allowed on purpose", told.allowed_on_purpose)
    each("allowed, the scheduler refuses", told.allowed_wrongly)
    each("refused, the scheduler allows", told.refused_wrongly)
    each("dumps refused", told.unreadable)
    if told.search_differs:
        lines.append(("the search differs", told.search_differs, told.first["search"]))
    each("pods left out", told.left_out)
    for text, count, witness in lines:
        print(f"{count:>8,}  {text}{f'   ({witness})' if witness else ''}")
    wrong = told.allowed_wrongly or told.refused_wrongly or told.unreadable or told.search_differs
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
