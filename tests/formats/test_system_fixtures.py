"""Objects in the shapes of each batch system's schemas, and the documents that they make.

``python -m tests.formats.test_system_fixtures`` writes what is expected anew, to be read line by
line.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kantopt.planning.convert import Converted, convert
from kantopt.schema.consistency import check_documents
from kantopt.schema.dump import dump_yaml
from kantopt.schema.raw import RawDocument

FOLDER = Path(__file__).resolve().parent / "fixtures"
SYSTEMS = ("kai", "koordinator", "kueue", "native", "topograph", "volcano")
EXPECTED = ".expected.yaml"
CASES = sorted(
    path
    for system in SYSTEMS
    for path in (FOLDER / system).glob("*.yaml")
    if not path.name.endswith(EXPECTED)
)


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def expected_of(case: Path) -> Path:
    return case.with_name(f"{case.stem}{EXPECTED}")


def text_of(read: Converted) -> str:
    """Write documents and notes as the expected files have them."""
    notes = "".join(f"# {line}\n" for line in read.notes)
    return notes + "---\n".join([dump_yaml(read.snapshot), dump_yaml(read.pending)])


def test_each_system_has_cases() -> None:
    assert {path.parent.name for path in CASES} == set(SYSTEMS)
    assert len(CASES) >= 30


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_objects_make_the_documents_that_are_expected(case: Path) -> None:
    read = convert("kubernetes", [str(case)])
    assert text_of(read) == expected_of(case).read_text(encoding="utf-8")
    raw = RawDocument("here", 0, {})
    assert check_documents([(raw, read.snapshot), (raw, read.pending)]) == []


if __name__ == "__main__":
    for each in CASES:
        expected_of(each).write_text(text_of(convert("kubernetes", [str(each)])), encoding="utf-8")
        print(expected_of(each))
