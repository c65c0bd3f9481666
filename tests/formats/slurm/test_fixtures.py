"""Folders of files as Slurm prints them, and the documents that they make.

``python -m tests.formats.slurm.test_fixtures`` writes what is expected anew, to be read line by
line.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kantopt.formats.imported import Imported
from kantopt.formats.slurm.cluster import import_slurm
from kantopt.problem.build import build_instance
from kantopt.schema.consistency import check_documents
from kantopt.schema.dump import dump_yaml
from kantopt.schema.extends import load_model
from kantopt.schema.features import FEATURES
from kantopt.schema.files import load_raw
from kantopt.schema.raw import RawDocument, is_slurm
from kantopt.schema.yaml.text import parse_yaml

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "slurm"
CASES = sorted(path for path in FOLDER.iterdir() if path.is_dir())


def read(case: Path) -> Imported:
    """Import all files of a folder."""
    raws = load_raw([str(path) for path in sorted(case.iterdir())])
    assert all(is_slurm(raw.data) for raw in raws)
    return import_slurm(raws)


def text_of(cluster: Imported) -> str:
    """Write documents and notes as the expected files have them."""
    documents = [dump_yaml(cluster.snapshot), dump_yaml(cluster.pending)]
    notes = "".join(f"# {line}\n" for line in cluster.notes)
    return notes + "---\n".join(documents)


def test_there_are_cases() -> None:
    assert len(CASES) >= 10


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_files_make_the_documents_that_are_expected(case: Path) -> None:
    expected = FOLDER / f"{case.name}.expected.yaml"
    assert text_of(read(case)) == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_documents_of_an_import_are_sound_and_fit_together(case: Path) -> None:
    cluster = read(case)
    expected = FOLDER / f"{case.name}.expected.yaml"
    assert len(parse_yaml(expected.read_text(encoding="utf-8"), "expected")) == 2
    raw = RawDocument("here", 0, {})
    assert check_documents([(raw, cluster.snapshot), (raw, cluster.pending)]) == []
    model = load_model("mixed").model_copy(update={"assume": FEATURES})
    instance = build_instance(cluster.snapshot, cluster.pending.jobs, model, source="here")
    assert len(instance.jobs) == len(cluster.snapshot.jobs) + len(cluster.pending.jobs)


def test_text_and_lines_of_one_cluster_are_read_alike() -> None:
    text, lines = (read(FOLDER / f"gpus-22.05-{form}") for form in ("text", "oneliner"))
    assert text == lines


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    time.tzset()
    for each in CASES:
        target = FOLDER / f"{each.name}.expected.yaml"
        target.write_text(text_of(read(each)), encoding="utf-8")
        print(target)
