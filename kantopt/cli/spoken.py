"""The words that a command speaks in: those of the cluster that it has read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kantopt.planning.question import Question
    from kantopt.report.words import Words

_spoken: Words | None = None
"""What messages are put into: errors come from places that know of no cluster."""


def speak(words: Words | None) -> None:
    """Speak so from now on; ``None``: as messages are made, which is how a command begins."""
    global _spoken
    _spoken = words


def spoken(text: str) -> str:
    """Put a message into the words that are spoken now."""
    return text if _spoken is None else _spoken.of(text)


def words_of(question: Question) -> Words:
    """Return the words for a question that was read."""
    from kantopt.report.words import OURS, words_about

    read_as = question.read_as
    if read_as is None:
        return OURS
    return words_about(read_as.source, question.snapshot, question.pending)


def speak_of(question: Question) -> None:
    """Speak as a question wants it that was read just now."""
    speak(words_of(question))
