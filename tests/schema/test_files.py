"""Files and standard input become raw documents, or one clear error."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from kantopt.errors import BadDataError, MissingInputError, UsageError
from kantopt.schema import inputs
from kantopt.schema.files import load_native, load_raw, parse_documents, read_text
from kantopt.schema.jobs import JobList
from kantopt.schema.raw import RawDocument, is_kubernetes
from kantopt.schema.snapshot import ClusterSnapshot

SNAPSHOT = "apiVersion: kantopt/v1alpha1\nkind: ClusterSnapshot\n"
JOBS = "apiVersion: kantopt/v1alpha1\nkind: JobList\n"


def write(folder: Path, name: str, data: str | bytes) -> str:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return str(path)


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = str(tmp_path / "none.yaml")
    with pytest.raises(MissingInputError) as missing:
        read_text(path)
    assert str(missing.value) == f"{path}: cannot be read: no such file or directory"
    assert missing.value.exit_code == 66


def test_a_directory_is_no_input(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="is a directory"):
        read_text(str(tmp_path))


def test_an_unreadable_file_is_no_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    # A patched open, because the superuser may read every file.
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(MissingInputError, match="permission denied"):
        read_text(str(tmp_path / "secret.yaml"))


def test_a_path_with_a_null_byte_is_no_input() -> None:
    with pytest.raises(MissingInputError, match="null"):
        read_text("a\0b")


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, SNAPSHOT.encode())
    (raw,) = load_raw(["-"])
    assert raw == RawDocument(
        "<stdin>", 0, {"apiVersion": "kantopt/v1alpha1", "kind": "ClusterSnapshot"}
    )


def test_standard_input_is_read_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, SNAPSHOT.encode())
    with pytest.raises(UsageError):
        load_raw(["-", "-"])
    assert load_raw(["-"])
    with pytest.raises(UsageError) as twice:
        read_text("-")
    assert twice.value.exit_code == 64


def test_closed_standard_input_is_no_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(MissingInputError, match="closed"):
        read_text("-")


def test_gzip_is_told_by_its_bytes_not_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = gzip.compress(SNAPSHOT.encode())
    assert read_text(write(tmp_path, "snapshot.yaml", packed)) == SNAPSHOT.encode()
    stdin(monkeypatch, packed)
    assert read_text("-") == SNAPSHOT.encode()


def test_gzip_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "MAX_BYTES", 1000)
    with pytest.raises(BadDataError, match="unpacked"):
        read_text(write(tmp_path, "bomb.gz", gzip.compress(b"a" * 1001)))


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    assert read_text(write(tmp_path, "a.yaml", b"\xef\xbb\xbfa: 1\n")) == b"a: 1\n"


def test_json_is_told_by_its_first_character() -> None:
    assert parse_documents(b' \n {"a": "yes"}', "f") == [RawDocument("f", 0, {"a": "yes"})]


def test_several_documents_are_numbered_from_one() -> None:
    for text in (b"a: 1\n---\n---\nb: 2\n", b'{"a": 1}\n{"b": 2}'):
        assert parse_documents(text, "f") == [
            RawDocument("f", 1, {"a": 1}),
            RawDocument("f", 2, {"b": 2}),
        ]
    assert parse_documents(b"a: 1\n---\nb: 2\n", "f")[1].label == "f#2"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"apiVersion": "v1", "kind": "List"}, True),
        ({"apiVersion": "apps/v1", "kind": "DeploymentList"}, True),
        ({"apiVersion": "kantopt.example/v1", "kind": "Thing"}, True),
        ({"apiVersion": "kantopt/v1alpha1", "kind": "JobList"}, False),
        ({"apiVersion": "kantopt/v9", "kind": "Other"}, False),
        ({"kind": "List"}, False),
        ({"apiVersion": "v1"}, False),
        ({"apiVersion": 1, "kind": "List"}, False),
    ],
)
def test_kubernetes_objects_are_told_by_their_version(
    data: dict[str, object], expected: bool
) -> None:
    assert is_kubernetes(data) is expected


def test_native_documents_come_in_order_with_their_types(tmp_path: Path) -> None:
    path = write(tmp_path, "both.yaml", f"{SNAPSHOT}---\n{JOBS}")
    assert [type(part) for _, part in load_native([path])] == [ClusterSnapshot, JobList]


def test_jobs_of_one_file_are_checked_against_the_snapshot_of_another(tmp_path: Path) -> None:
    snapshot = write(tmp_path, "s.yaml", SNAPSHOT + "queues: [{name: research}]\n")
    body = "jobs: [{name: a, queueName: reserch, podSets: [{count: 1}]}]\n"
    jobs = write(tmp_path, "j.yaml", JOBS + body)
    assert load_native([jobs])
    with pytest.raises(BadDataError, match=r"j\.yaml: jobs\[0\]\.queueName.*mean research"):
        load_native([jobs, snapshot])


def test_reading_raw_documents_loads_neither_pydantic_nor_yaml(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", '{"apiVersion": "v1", "kind": "List"}')
    code = (
        "import sys; from kantopt.schema.files import load_raw; load_raw([sys.argv[1]]); "
        "sys.exit(' '.join({'pydantic', 'yaml'} & set(sys.modules)) or 0)"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == 0


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_small_file_takes_no_more_memory_than_it_needs(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_bytes(pack(b"kind: JobList"))
    tracemalloc.start()
    try:
        assert read_text(str(file)) == b"kind: JobList"
        assert tracemalloc.get_traced_memory()[1] < 10 * inputs.BLOCK
    finally:
        tracemalloc.stop()
