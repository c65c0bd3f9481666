"""The Standard Workload Format: which numbers are used, what is left out, what is wrong."""

from __future__ import annotations

import pytest

from kantopt.errors import BadDataError
from kantopt.formats.traces.swf import read_swf
from kantopt.schema.consistency import check_snapshot, check_trace
from kantopt.schema.dump import dump_yaml
from kantopt.schema.trace import Trace

LOG = """\
; Version: 2.2
; MaxNodes: 8
;  MaxProcs: 16 (8,8)

   1  0    5  100  4 -1 -1  4  200  -1  1  3 1 -1  1  1 -1 -1
   2 10.4 -1 60.6  4 -1 -1 -1   50 512  0  3 1 -1  0  2 -1 -1
   3 20    5   -1 -1 -1 -1  4  200  -1  5  3 1 -1  1  1 -1 -1
   4 20    5    0  4 -1 -1 32   -1  -1  1 -1 1 -1 -1  1  1 10
   5 30    5   40  8 -1 -1  4   40  -1  5  4 1 -1  1  1 -1 -1
   5 -1    5   20  8 -1 -1  4   40  -1  2  4 1 -1  1  1 -1 -1
   6 30    5   -1  8 -1 -1  4   40  -1  1  4 1 -1  1  1 -1 -1
   7 30    5   50 -1 -1 -1 -1   40  -1  1  4 1 -1  1  1 -1 -1
   8 -1    5   50  8 -1 -1  4   40  -1  1  4 1 -1  1  1 -1 -1
"""

GOLDEN = """\
apiVersion: kantopt/v1alpha1
kind: Trace
metadata:
  name: toy
notes:
- Standard Workload Format 2.2; a processor is a unit of cpu, a job one pod on one node of all processors (MaxProcs), whatever the 8 nodes that the log tells of
- 'jobs that failed run as long as they did: 1 (job-2)'
- 'jobs whose times are rounded to seconds: 1 (job-2)'
- 'jobs that do not say how many processors they asked for have what they got: 1 (job-2)'
- 'jobs that ran longer than they asked for: 1 (job-2)'
- 'jobs whose requested memory is left out: 1 (job-2)'
- 'jobs cancelled before they ran are left out: 1 (job-3)'
- 'jobs that ran for less than half a second run for 1s: 1 (job-4)'
- 'jobs that got another number of processors than they asked for have what they asked for: 2 (job-4, ...)'
- 'jobs without a requested time are taken to ask for their run time: 1 (job-4)'
- 'jobs of unknown users: 1 (job-4)'
- 'jobs that follow another come at their submit time all the same: 1 (job-4)'
- 'jobs cancelled while they ran run as long as they did: 1 (job-5)'
- 'lines of parts of a run (status 2 to 4) beside the line of the whole job are left out: 1 (job-5)'
- 'jobs of unknown run time are left out: 1 (job-6)'
- 'jobs of an unknown number of processors are left out: 1 (job-7)'
- 'jobs of unknown submit time are left out: 1 (job-8)'
- 'jobs larger than the machine of 16 processors never start: 1 (job-4)'
- 'partitions are not kept apart: jobs may use all processors: 2'
jobs:
- name: job-1
  queueName: queue-1
  podSets:
  - count: 1
    requests:
      cpu: 4
  arrival: 0s
  duration: 100s
  estimate: 200s
  user: user-3
- name: job-2
  queueName: queue-0
  podSets:
  - count: 1
    requests:
      cpu: 4
  arrival: 10s
  duration: 61s
  estimate: 50s
  user: user-3
- name: job-4
  podSets:
  - count: 1
    requests:
      cpu: 32
  arrival: 20s
  duration: 1s
- name: job-5
  queueName: queue-1
  podSets:
  - count: 1
    requests:
      cpu: 4
  arrival: 30s
  duration: 40s
  estimate: 40s
  user: user-4
"""  # noqa: E501 - as it is written

GOOD = "1 0 5 100 4 -1 -1 4 200 -1 1 3 1 -1 1 1 -1 -1"


def read(text: str) -> Trace:
    return read_swf(text, file="x.swf", name="toy")[1]


def test_every_kind_of_line_is_used_or_left_out_and_counted() -> None:
    snapshot, trace = read_swf(LOG, file="x.swf", name="toy")
    assert dump_yaml(trace) == GOLDEN
    assert snapshot is not None
    assert [node.allocatable for node in snapshot.nodes] == [{"cpu": 16}]
    assert check_snapshot(snapshot, "x") == check_trace(trace, snapshot, "x") == []


def test_every_line_of_the_log_is_a_job_or_in_the_count_of_one_kind_left_out() -> None:
    trace = read(LOG)
    left_out = sum(
        int(note.rpartition(": ")[2].partition(" ")[0])
        for note in trace.notes
        if "left out" in note and "memory" not in note
    )
    lines = [line for line in LOG.splitlines() if line.strip() and line[0] != ";"]
    assert len(trace.jobs) + left_out == len(lines)


@pytest.mark.parametrize(
    ("header", "processors", "said"),
    [
        ("; MaxProcs: 128", 128, "all processors (MaxProcs)"),
        ("; MaxNodes: 64", 64, "(MaxNodes): it has no MaxProcs"),
        ("; MaxNodes: 64\n; MaxProcs: -1", 64, "(MaxNodes): it has no MaxProcs"),
        ("; Note: MaxProcs: 5", None, "no machine is written"),
        ("", None, "no machine is written"),
    ],
)
def test_the_machine_is_that_of_the_header(header: str, processors: int | None, said: str) -> None:
    snapshot, trace = read_swf(f"{header}\n{GOOD}\n", file="x.swf", name="toy", processor="gpu")
    found = None if snapshot is None else snapshot.nodes[0].allocatable["gpu"]
    assert found == processors
    assert said in trace.notes[0]
    assert trace.jobs[0].pod_sets[0].requests == {"gpu": 4}


def test_a_log_out_of_order_is_sorted_and_says_so() -> None:
    trace = read(f"{GOOD.replace('1 0', '2 9', 1)}\n{GOOD}\n")
    assert [job.name for job in trace.jobs] == ["job-1", "job-2"]
    assert any("order of submit time" in note for note in trace.notes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD[:-3], "x.swf: line 1: found 17 fields, expected the 18"),
        (f"{GOOD} 7", "line 1: found 19 fields"),
        (GOOD.replace("100", "many"), 'line 1.run time: found "many", expected a number'),
        (GOOD.replace("100", "-2"), 'line 1.run time: found "-2"'),
        (GOOD.replace("100", "1_0"), 'line 1.run time: found "1_0"'),
        (GOOD.replace("100", "nan"), 'line 1.run time: found "nan"'),
        (GOOD.replace("100", "9999999999"), "below 10\\^9"),
        (GOOD.replace(" 4 200", " 4.5 200"), "requested processors: found .*a whole number"),
        (f"-1{GOOD[1:]}", "job number: found .*that is not negative"),
        (f"; MaxProcs: lots\n{GOOD}", 'line 1.MaxProcs: found "lots", expected a whole number'),
        (f"{GOOD}\n{GOOD}", "line 2.job number: found 1, expected each once"),
        ("<html>\n" * 50, "line 21: found more lines, expected none so wrong"),
    ],
)
def test_what_is_wrong_is_said_with_line_and_field(text: str, words: str) -> None:
    with pytest.raises(BadDataError, match=words):
        read(text)
