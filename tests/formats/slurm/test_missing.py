"""Output of Slurm that was cut, or is of a part of the cluster, is no smaller cluster."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kantopt.errors import BadDataError
from kantopt.formats.imported import Imported
from kantopt.formats.slurm.cluster import import_slurm
from kantopt.schema.files import parse_documents

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "slurm"
TEXT, LINES = "gpus-22.05-text", "gpus-22.05-oneliner"


def cluster(*texts: str) -> Imported:
    raws = [parse_documents(text.encode(), f"{k}.txt") for k, text in enumerate(texts)]
    return import_slurm([raw for found in raws for raw in found])


def printed(folder: str, kind: str) -> str:
    (path,) = (p for p in (FIXTURES / folder).iterdir() if p.read_text().startswith(f"{kind}="))
    return path.read_text()


def notes(*texts: str) -> list[str]:
    return [
        line
        for line in cluster(*texts).notes
        if "input does not show" in line or "input shows" in line
    ]


@pytest.mark.parametrize("folder", [TEXT, LINES])
@pytest.mark.parametrize("kind", ["NodeName", "JobId", "PartitionName"])
def test_a_record_that_is_cut_is_an_error_that_names_it(folder: str, kind: str) -> None:
    whole = printed(folder, kind)
    begins = [match.start() for match in re.finditer(rf"^{kind}=", whole, re.MULTILINE)]
    name = whole[begins[-1] :].split()[0]
    for share in (0.3, 0.6, 0.9):
        cut = begins[-1] + int(share * (len(whole) - begins[-1]))
        others = [printed(folder, k) for k in ("NodeName", "PartitionName") if k != kind]
        with pytest.raises(BadDataError, match=name):
            cluster(whole[:cut], *others)
    # Pasted without the empty line at its end it is whole.
    cluster(whole.rstrip(), *others)


def test_a_record_without_what_slurm_adds_to_some_only_is_whole() -> None:
    first, second, *_, last = printed(LINES, "JobId").splitlines()
    more = " TresPerNode=gres:gpu:1 MailUser=eve MailType=END"
    cluster(f"{first}{more}\n{second}{more}\n{last}", printed(LINES, "NodeName"))


def test_nodes_jobs_and_partitions_that_others_tell_of_are_missed_by_name() -> None:
    nodes, jobs, partitions = (printed(TEXT, k) for k in ("NodeName", "JobId", "PartitionName"))
    assert notes(nodes, jobs, partitions) == []
    fewer = nodes[: nodes.index("NodeName=n7")]
    assert notes(fewer, partitions) == [
        "nodes that partitions have and the input does not show: they count as not there: "
        "2 (n7 of main, ...)"
    ]
    running = [part for part in jobs.split("\n\n") if "JobState=RUNNING" in part]
    waiting = [part for part in jobs.split("\n\n") if "JobState=PENDING" in part]
    assert running
    assert waiting
    (line,) = notes(nodes, "\n\n".join(waiting) + "\n\n", partitions)
    assert re.fullmatch(
        r"nodes with jobs of which the input shows none: they count as empty: "
        r"\d+ \(n\d, ...\)",
        line,
    )
    (line,) = notes(nodes, jobs, partitions[: partitions.index("PartitionName=idle")])
    assert line == (
        "partitions that nodes are in and the input does not show: limits and tiers are not "
        "known: 1 (idle)"
    )
