"""Every malformed file of the corpus is refused with the message that stands beside it.

``python -m tests.schema.test_malformed`` writes the messages anew, to be read line by line.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from kantopt.errors import BadDataError
from kantopt.schema.files import load_native

CORPUS = Path(__file__).parent / "malformed"
FILES = sorted(
    str(path.relative_to(CORPUS))
    for path in CORPUS.rglob("*")
    if path.is_file() and path.suffix != ".expected"
)


def expected_of(name: str) -> Path:
    return CORPUS / f"{name}.expected"


def message_of(name: str) -> str:
    """What is said of a file, named as seen from the corpus."""
    with contextlib.chdir(CORPUS), pytest.raises(BadDataError) as refused:
        load_native([name])
    return f"{refused.value}\n"


@pytest.mark.parametrize("name", FILES)
def test_a_malformed_file_is_refused_with_its_message(name: str) -> None:
    assert message_of(name) == expected_of(name).read_text(encoding="utf-8")


def test_the_corpus_covers_enough_classes_of_error() -> None:
    assert len(FILES) >= 60
    assert len({Path(name).parent for name in FILES}) >= 15


def test_every_expected_message_belongs_to_a_file() -> None:
    expected = {str(path.relative_to(CORPUS)) for path in CORPUS.rglob("*.expected")}
    assert expected == {f"{name}.expected" for name in FILES}


def test_the_problems_of_all_files_are_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CORPUS)
    names = ["wrong-type/count-as-string.yaml", "negative/count.yaml"]
    with pytest.raises(BadDataError) as refused:
        load_native(names)
    assert [problem.file for problem in refused.value.problems] == names


if __name__ == "__main__":
    for each in FILES:
        expected_of(each).write_text(message_of(each), encoding="utf-8")
