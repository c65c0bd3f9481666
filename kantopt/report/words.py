"""Words of the scheduler whose cluster it is, where a table would use those of Kubernetes.

Documents keep ours. Texts are changed just before they are laid out, so that whoever makes one need
not know where its cluster comes from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kantopt.report.blocks import Block, with_texts
from kantopt.schema.base import Part
from kantopt.schema.plan import Plan
from kantopt.schema.reports import Verdict

SLURM = {
    "pod set": "component",
    "podset": "component",
    "pod": "task",
    "nvidia.com/gpu": "gres/gpu",
    "cordoned": "drained",
    "uncordon": "resume",
    "node selector or affinity": "partition, constraint or node list",
    "didn't match pod's node affinity/selector": "outside its partition, constraint or node list",
    "unschedulable": "drained",
    "taint": "reservation",
}
"""What Slurm says instead, in the singular; a task is what of a job is on one node together."""
_VOCABULARIES = {"slurm": SLURM}

_BEFORE, _BEHIND = r"\w./:=-", r"[\w/=-]|\.\w"
"""What a word stands beside that is part of a name, such as ``team/pod``, or of what somebody is to
type, such as ``uncordon=n1``."""


def in_words_of(source: str, text: str) -> str:
    """Put a text into the words of a source of documents, as ``readAs`` of a plan names it."""
    words = _VOCABULARIES.get(source)
    return text if words is None else _spoken(text, words)


def blocks_in_words_of(source: str, blocks: Sequence[Block]) -> list[Block]:
    """Put what blocks say into the words of a source; as :func:`in_words_of`."""
    if source not in _VOCABULARIES:
        return list(blocks)
    return [with_texts(block, lambda text: in_words_of(source, text)) for block in blocks]


def source_of(document: Part) -> str:
    """Tell what a document says it was made of: a plan, what speaks of one, a verdict."""
    plan = getattr(document, "plan", document)
    read_as = plan.metadata.read_as if isinstance(plan, Plan) else None
    if isinstance(document, Verdict):
        read_as = document.read_as
    return "" if read_as is None else read_as.source


def _spoken(text: str, words: dict[str, str]) -> str:
    longest = sorted(words, key=len, reverse=True)
    pattern = rf"(?<![{_BEFORE}])(JOB/)?({'|'.join(map(re.escape, longest))})(s?)(?!{_BEHIND})"

    def other(found: re.Match[str]) -> str:
        word = words[found[2].lower()] + found[3].lower()
        if found[2].isupper():
            word = word.upper()
        elif found[2][0].isupper():
            word = word[0].upper() + word[1:]
        return (found[1] or "") + word

    return re.sub(pattern, other, text, flags=re.IGNORECASE)
