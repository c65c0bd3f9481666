"""Words and comments of a shell: whatever a document holds, it is no command."""

from __future__ import annotations

import subprocess

from hypothesis import given
from hypothesis import strategies as st

from kantopt.render.shell import comment, one_line, word

TEXTS = st.lists(
    st.sampled_from(
        ["a", "'", '"', "\\", "$(", "`", ")", ";", "&", "#", " ", "\n", "\t", "\x1b[2J"]
    )
    | st.characters(exclude_characters="\0", exclude_categories=["Cs"]),
    max_size=12,
).map("".join)


@given(st.lists(TEXTS, max_size=6))
def test_a_shell_reads_words_as_they_are(texts: list[str]) -> None:
    # A command substitution drops line breaks at its end, and none of them is within one.
    script = "printf '%s\\0' " + " ".join(word(text) for text in ["-", *texts])
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == ["-", *texts]


@given(TEXTS)
def test_a_terminal_has_nothing_to_obey_in_what_is_written(text: str) -> None:
    assert word(text).replace("\n", "").isprintable()
    assert one_line(text).isprintable()


@given(TEXTS)
def test_a_comment_is_one_line_and_does_nothing(text: str) -> None:
    done = subprocess.run(["/bin/sh", "-c", comment(text)], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_the_empty_word_is_a_word() -> None:
    assert word("") == "''"
