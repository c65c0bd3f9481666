"""The search in its own process: it sends what it finds and can be ended at any moment."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kantopt import memory
from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.planning.solving.messages import Done, Failed, Message, SearchTask, Started
from kantopt.planning.solving.solver_process import SolverProcess, _Outbox
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.engine.known import Bound
from kantopt.search.engine.told import Begun, Found
from kantopt.search.schedule import CP_SAT, RELAXATION
from tests.questions import hard_question, model, question


def task(instance: Instance, seconds: float = 30.0) -> SearchTask:
    return SearchTask(
        instance=instance,
        tiers=tiers_of(instance),
        start=instance.current,
        forbidden=(),
        budget=Budget(Deadline.within(seconds), workers=1),
    )


def begun(search: SearchTask) -> SolverProcess:
    process = SolverProcess()
    process.begin(search, Incumbent(search.instance, tiers_of(search.instance), search.start))
    return process


def messages_of(process: SolverProcess, deadline: Deadline) -> Iterator[Message]:
    """Yield what comes until the search has ended or the deadline is over."""
    while not deadline.over():
        message = process.message(min(0.05, deadline.remaining()))
        if message is not None:
            yield message
        if isinstance(message, Done | Failed):
            return


def hard() -> Instance:
    return hard_question().instance(model({"unplaced": {"unit": "pod"}}, "evictions", "moves"))


def easy() -> Instance:
    node = {"name": "n", "allocatable": {"cpu": 2}}
    jobs = [{"name": f"j{i}", "podSets": [{"count": 1, "requests": {"cpu": 1}}]} for i in range(3)]
    return question([node], [], jobs).instance(model({"unplaced": {"unit": "pod"}}))


def test_an_easy_search_sends_a_placement_and_ends_by_itself() -> None:
    search = task(easy())
    with begun(search) as process:
        messages = list(messages_of(process, search.budget.deadline))
    assert any(isinstance(message, Found) for message in messages)
    assert Bound(0, 1, (), "relaxation-search") in messages
    assert isinstance(messages[-1], Done)


def test_a_line_that_is_closed_while_a_task_is_sent_leaves_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A task larger than the line holds, and nobody listens: it is on its way at the end."""
    faults: list[object] = []
    monkeypatch.setattr(threading, "excepthook", faults.append)
    near, far = multiprocessing.get_context("fork").Pipe()
    outbox = _Outbox(near)
    outbox.begin([bytes(10**6)] * 40)  # type: ignore[arg-type]
    assert far.poll(10.0)
    near.close()
    while far.poll(0.2) and len(os.read(far.fileno(), 10**7)):
        pass
    outbox.close()
    far.close()
    assert faults == []


def test_a_killed_search_says_by_which_signal() -> None:
    search = task(hard())
    with begun(search) as process:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        messages = list(messages_of(process, search.budget.deadline))
    assert messages == [Failed("the solver process ended unexpectedly (signal SIGKILL)")]


def test_the_deadline_ends_the_search_and_the_process() -> None:
    search = task(hard())
    deadline = Deadline.within(0.5)
    with begun(search) as process:
        list(messages_of(process, deadline))
    assert process.pid is not None
    assert not os.path.exists(f"/proc/{process.pid}")


def test_a_process_that_does_not_die_at_once_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process = begun(task(hard()))
    assert process.pid is not None
    with monkeypatch.context() as patch:
        # As of a process that waits for a disk: the signal is there, and nothing happens yet.
        patch.setattr(os, "kill", lambda *_: None)
        process.close()
    assert os.path.exists(f"/proc/{process.pid}")
    os.kill(process.pid, signal.SIGKILL)
    os.waitpid(process.pid, 0)


def test_a_wish_to_stop_ends_the_search() -> None:
    search = task(hard())
    deadline = Deadline(None)
    with begun(search) as process:
        for message in messages_of(process, deadline):
            assert isinstance(message, Started | Found | Bound)
            deadline.stop.signal = signal.SIGTERM
    assert deadline.over()


def test_want_of_memory_ends_the_process_and_not_silently_its_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def alone_has_too_much(_: int, *processes: int) -> bool:
        return len(processes) == 1

    monkeypatch.setattr(memory, "hold_more", alone_has_too_much)
    asked = task(easy())
    asked.budget.deadline.stop.memory = memory.MemoryLimit(2**30)
    with begun(asked) as process:
        *_, last = messages_of(process, Deadline.within(20))
    assert last == Done(infeasible=False, clocked=False)


def test_an_error_in_the_search_is_told_in_one_line() -> None:
    broken = replace(task(easy()), tiers=(None,))  # type: ignore[arg-type]
    with begun(broken) as process:
        started, message = messages_of(process, broken.budget.deadline)
    assert isinstance(started, Started)
    assert isinstance(message, Failed)
    assert message.message.startswith("the solver failed: AttributeError")
    assert "\n" not in message.message


def test_a_search_without_time_left_ends_by_itself() -> None:
    """The process stops a moment before the deadline of the one that listens."""
    search = task(hard(), seconds=2.0)
    with begun(search) as process:
        messages = list(messages_of(process, Deadline.within(10.0)))
    assert isinstance(messages[-1], Done)


def test_a_placement_found_elsewhere_is_where_the_search_goes_on() -> None:
    """What is offered while the process is still loading is not sent back as its own find."""
    search = task(easy())
    podsets = ({Spot(0): 1}, {Spot(0): 1}, {})
    with begun(search) as process:
        process.offer(Placement(podsets))
        messages = list(messages_of(process, search.budget.deadline))
    assert isinstance(messages[-1], Done)


def test_a_task_is_written_out_before_others_go_on_with_what_it_refers_to() -> None:
    """What is known of a question is kept in it: while it was sent, it grew under the sender."""
    writers = []

    class Asked:
        def __reduce__(self) -> tuple[type[int], tuple[int]]:
            writers.append(threading.current_thread())
            return int, (7,)

    near, far = multiprocessing.Pipe()
    outbox = _Outbox(near)
    outbox.begin(Asked())  # type: ignore[arg-type]
    assert far.recv() == 7
    outbox.close()
    assert writers == [threading.current_thread()]


def test_one_task_after_the_other_each_with_what_it_brings() -> None:
    """What the search for one finds and says goes to its incumbent, and not to the next one's."""
    deadline = Deadline.within(30.0)
    broken = replace(task(easy()), tiers=(None,))  # type: ignore[arg-type]
    with SolverProcess() as process:
        for search, fails in ((task(easy()), False), (broken, True), (task(easy()), False)):
            best = Incumbent(search.instance, tiers_of(search.instance), search.start)
            process.begin(search, best)
            process.wait(deadline, "last word")
            assert not process.open
            assert ["the solver failed" in text for text in process.warnings] == [True] * fails
            assert best.optimal is not fails


def test_what_comes_from_the_process_is_not_sent_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run passes on each better plan, whoever has found it."""
    sent: list[Found] = []
    monkeypatch.setattr(_Outbox, "offer", lambda _, found: sent.append(found))
    search = task(easy())
    passed: list[Placement] = []
    with SolverProcess() as process:

        def pass_on(placement: Placement) -> None:
            passed.append(placement)
            process.offer(placement)

        incumbent = Incumbent(search.instance, search.tiers, search.start, found=pass_on)
        process.begin(search, incumbent)
        process.wait(search.budget.deadline, "last word")
        assert passed
        assert not sent
        process.open = True
        process.offer(search.start)
    assert [found.podsets for found in sent] == [search.start.podsets]


def test_whoever_rests_beside_a_technique_goes_on_with_the_next_one_or_when_its_time_is_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance = easy()
    with SolverProcess() as process:
        process.begin(task(instance), Incumbent(instance, tiers_of(instance), instance.current))
        assert not process.at_work(CP_SAT)
        coming = iter([Begun("cp-sat"), Begun("relaxation"), Begun("cp-sat")])
        monkeypatch.setattr(process, "message", lambda _: next(coming, None))
        process.rest_beside(CP_SAT, Deadline(None))  # not at work yet
        process._take(next(coming))
        assert process.at_work(CP_SAT)
        process.rest_beside(CP_SAT, Deadline(None))
        assert process.at_work(RELAXATION)
        process._take(next(coming))
        process.rest_beside(CP_SAT, Deadline.within(0.1))
        assert process.at_work(CP_SAT)
