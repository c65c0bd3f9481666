"""Verdicts, each from the gentlest question that is answered with yes."""

from __future__ import annotations

import pytest

from kantopt.errors import BadDataError, UsageError
from kantopt.planning.beside import Beside
from kantopt.planning.explain import verdict as verdicts
from kantopt.planning.explain.together import beside_others
from kantopt.problem.derived.focus import focused
from kantopt.report.explanation import explanation_blocks
from kantopt.schema.answers.explanation import Explanation
from kantopt.search.explain.decide import Decision
from tests.explain.helpers import asked, explained, model_of
from tests.verify.world import GPU, Document, job, node, pods

RACKS = [node(f"n{i}", cpu=9, gpu=8, rack=f"b/{i // 2}") for i in range(4)]


def verdict(jobs: list[Document], nodes: list[Document] = RACKS, **more: object) -> Explanation:
    return explained(asked(nodes, jobs, **more))  # type: ignore[arg-type]


def test_a_job_with_room_fits_now() -> None:
    told = verdict([job("j", pods(count=2, gpu=8, topologyRequest={"required": "rack"}))])
    assert (told.verdict.status, told.verdict.proved) == ("FITS_NOW", True)
    assert told.verdict.message == "FITS NOW: its 2 pods have room as it stands."
    assert told.plan is not None
    assert (told.plan.placed_pods, told.plan.evicted_pods, told.plan.moved_pods) == (2, 0, 0)


def test_of_an_elastic_job_the_verdict_speaks_of_what_it_needs() -> None:
    """There may be room for more than the minimum, and the plan then binds more."""
    told = verdict([job("j", pods(count=4, minCount=2, gpu=8))])
    assert told.verdict.message == (
        "FITS NOW: the 2 that it needs of its 4 pods have room as it stands."
    )
    assert told.plan is not None
    assert told.plan.placed_pods == 4


def test_a_job_that_needs_others_to_move() -> None:
    jobs = [
        job("a", pods(gpu=3, on=["n0"])),
        job("b", pods(gpu=3, on=["n1"])),
        job("c", pods(gpu=3, on=["n2"])),
        job("d", pods(gpu=3, on=["n3"])),
        job("j", pods(count=1, gpu=8)),
    ]
    told = verdict(jobs)
    assert (told.verdict.status, told.verdict.proved) == ("FITS_AFTER_MOVING", True)
    assert told.verdict.message == (
        "FITS AFTER MOVING: its pod fits with 1 pod moved; no plan disturbs less."
    )
    assert told.plan is not None
    assert told.plan.moved_pods == 1


def test_a_job_that_needs_evictions() -> None:
    jobs = [job(f"r{i}", pods(gpu=8, on=[f"n{i}"]), priority=1) for i in range(4)]
    told = verdict([*jobs, job("j", pods(gpu=8), priority=2)])
    assert (told.verdict.status, told.verdict.proved) == ("FITS_AFTER_PREEMPTING", True)
    assert [a.answer for a in told.verdict.answers] == ["no", "no", "yes"]


def test_a_job_that_waits_for_others_to_end() -> None:
    jobs = [job(f"r{i}", pods(gpu=8, on=[f"n{i}"]), priority=2) for i in range(4)]
    told = verdict([*jobs, job("j", pods(gpu=8), priority=2)])
    assert (told.verdict.status, told.verdict.proved) == ("WAITS", True)
    assert told.plan is None


def test_a_job_too_large_for_the_hardware() -> None:
    told = verdict([job("j", pods(count=3, gpu=8, topologyRequest={"required": "rack"}))])
    assert (told.verdict.status, told.verdict.proved) == ("NEVER", True)
    told = verdict([job("j", pods(gpu=9))])
    assert told.verdict.status == "NEVER"
    assert told.pod_sets[0].message == (
        f"0/4 nodes are available: 4 Insufficient {GPU} even when empty."
    )


def test_a_job_over_its_quota() -> None:
    queues = [{"name": "q", "resources": [{"name": GPU, "nominalQuota": 7}]}]
    told = verdict([job("j", pods(gpu=8), queueName="q")], queues=queues)
    assert (told.verdict.status, told.verdict.proved) == ("OVER_QUOTA", True)


def test_of_a_job_over_its_quota_it_is_said_what_is_counted_and_what_left_aside() -> None:
    """Beside others of its queue it has no place; or there is less quota than it asks for alone."""
    queues = [
        {
            "name": "q",
            "cohort": "c",
            "resources": [{"name": GPU, "nominalQuota": 8, "borrowingLimit": 4}],
        },
        {"name": "lender", "cohort": "c", "resources": [{"name": GPU, "nominalQuota": 99}]},
    ]
    runs = job("r", pods(gpu=5, on=["n0"]), queueName="q", preemptible=False)
    for gpus, empty, counts in (
        (4, "its 2 pods would fit, its quota left aside", "13 of 12"),
        (
            8,
            f"its 2 pods would fit, but never within the quota of queue q: 16 of 12 {GPU}",
            "21 of 12",
        ),
    ):
        told = verdict([runs, job("j", pods(count=2, gpu=gpus), queueName="q")], queues=queues)
        [alone] = [a for a in told.verdict.answers if a.question == "on an empty cluster"]
        assert alone.message == empty
        assert told.conflict is not None
        [line] = [item.message for item in told.conflict.items if item.rule == "quota"]
        assert line == f"{counts} {GPU}, 5 of them in use now: 8 of its own and 4 to borrow"


def test_a_job_over_the_limits_of_the_model() -> None:
    jobs = [job(f"r{i}", pods(gpu=8, on=[f"n{i}"]), priority=1) for i in range(4)]
    question = asked(
        RACKS, [*jobs, job("j", pods(gpu=8), priority=2)], {"limits": {"evictions": 0}}
    )
    assert explained(question).verdict.status == "OVER_LIMIT"


def test_a_job_that_runs() -> None:
    assert verdict([job("j", pods(gpu=8, on=["n0"]))]).verdict.status == "RUNS"


def test_the_counts_of_nodes_add_up() -> None:
    nodes = [
        node("a", gpu=2),
        node("b", gpu=8, taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}]),
        node("c", gpu=8, unschedulable=True),
        node("d", gpu=8, ready=False),
        node("e", gpu=8, labels={"pool": "x"}),
        node("f", gpu=8, labels={"pool": "y"}),
    ]
    run = job("r", pods(gpu=5, on=["e"]))
    told = verdict([run, job("j", pods(count=2, gpu=4, nodeSelector={"pool": "x"}))], nodes)
    assert told.pod_sets[0].message == (
        "0/6 nodes are available: 3 node(s) didn't match Pod's node affinity/selector, "
        f"1 Insufficient {GPU}, 1 node(s) were not ready, 1 node(s) were unschedulable."
    )
    told = verdict([run, job("j", pods(count=2, gpu=4))], nodes)
    [only] = told.pod_sets
    assert only.available + sum(out.count for out in only.exclusions) == only.nodes == 6
    assert only.message == (
        "1/6 nodes are available, with room for 2 of 2 pods: "
        f"1 Insufficient {GPU}, 1 Insufficient {GPU} even when empty, "
        "1 node(s) had untolerated taint {k: v}, 1 node(s) were not ready, "
        "1 node(s) were unschedulable."
    )


def test_a_gang_that_runs_with_its_minimum_asks_for_the_rest() -> None:
    jobs = [job("j", pods(count=3, minCount=1, gpu=8, on=["n0"]))]
    told = verdict(jobs)
    assert told.verdict.status == "FITS_NOW"
    assert told.plan is not None
    assert told.plan.placed_pods == 2


def test_of_an_elastic_job_it_is_said_why_its_others_wait() -> None:
    jobs = [job(f"r{i}", pods(gpu=4, on=[f"n{i}"]), priority=1) for i in range(4)]
    jobs[3]["podSets"][0]["requests"][GPU] = 8
    told = verdict([*jobs, job("j", pods(count=5, minCount=2, gpu=4), priority=2)])
    assert told.verdict.message == (
        "FITS NOW: the 2 that it needs of its 5 pods have room as it stands. The other 2 pods wait "
        f"(capacity: 0 of 4 nodes fit: 4 {GPU}; node n0 would need 12 of 8 {GPU}; short of 2 "
        "pods): here nobody makes way above minCount; plan weighs that."
    )
    assert told.plan is not None
    assert told.plan.placed_pods == 3


def test_of_an_elastic_job_it_is_said_how_many_pods_start_beside_others() -> None:
    others = job("o", pods(count=2, gpu=8), priority=1)
    told = verdict([others, job("j", pods(count=4, minCount=1, gpu=8), priority=2)])
    assert told.verdict.status == "FITS_NOW"
    assert told.notes == (
        "planned together with 1 other pending job 2 of these 4 pods start: those above minCount "
        "come after all other jobs (kantopt plan)",
    )
    told = verdict([job("j", pods(count=4, minCount=1, gpu=8), priority=2)])
    assert told.notes == ()


def test_it_is_said_that_the_model_counts_a_victim_above_the_pods_that_would_start() -> None:
    """The rule on priority lets a gang evict for pods above its minimum; objectives do not."""
    nodes = [node("a", cpu=9, gpu=8), node("b", cpu=9, gpu=8)]
    elastic = job("j", pods(count=4, minCount=2, gpu=4, on=["a", "a"]), priority=2)
    told = verdict([job("r", pods(gpu=6, on=["b"]), priority=1), elastic], nodes)
    assert told.verdict.status == "FITS_AFTER_PREEMPTING"
    said = "kantopt plan would not do this: in the model's order "
    assert any(note.startswith(f"{said}unplaced[1, GPUs] comes before") for note in told.notes)
    first = verdict(
        [job("r", pods(gpu=6, on=["b"]), priority=1), job("j", pods(gpu=8), priority=2)], nodes[1:]
    )
    assert first.verdict.status == "FITS_AFTER_PREEMPTING"
    assert not any(note.startswith(said) for note in first.notes)


def test_services_are_not_waited_for() -> None:
    """Whoever keeps as many pods as it wants starts them anew; a job of the same size ends."""

    def runs(name: str, on: str, kind: str) -> Document:
        place = {"node": on, "pods": [{"name": name, "ownerKind": kind}]}
        return job(name, {**pods(gpu=8), "assignments": [place]}, priority=5)

    kinds = ("ReplicaSet", "Job", "StatefulSet", "PyTorchJob")
    jobs = [runs(f"r{i}", f"n{i}", kind) for i, kind in enumerate(kinds)]
    told = verdict([*jobs, job("j", pods(gpu=8), priority=1)])
    ends = {remedy.message for remedy in told.remedies if remedy.kind == "end"}
    assert ends == {f"wait for default/r{i} to end" for i in (1, 3)}
    told = verdict([*jobs, job("j", pods(count=3, gpu=8), priority=1)])
    assert [remedy for remedy in told.remedies if remedy.kind == "end"] == []


def test_jobs_that_the_model_requires_are_not_asked_about() -> None:
    jobs = [job("r", pods(gpu=8, on=["n0"])), job("other", pods(gpu=9)), job("j", pods(gpu=8))]
    question = asked(RACKS, jobs, {"required": ["other", "r"]})
    assert explained(question).verdict.status == "FITS_NOW"


def test_who_fits_alone_may_wait_beside_others() -> None:
    jobs = [job(f"p{i}", pods(gpu=8), priority=9) for i in range(4)]
    told = verdict([*jobs, job("j", pods(gpu=8), priority=1)])
    assert told.verdict.status == "FITS_ALONE"
    assert told.verdict.message == (
        "FITS ALONE, WAITS behind 4 jobs: default/p0, default/p1, default/p2 and 1 more; alone its "
        "pod has room as it stands."
    )
    assert told.verdict.behind == tuple(f"default/p{i}" for i in range(4))
    assert told.notes == ("to place it before others that wait: kantopt plan --require default/j",)


def test_among_equals_who_has_waited_longest_waits_behind_nobody() -> None:
    def waits(name: str, day: int) -> Document:
        return job(name, pods(gpu=8), creationTime=f"2025-12-{day:02d}T00:00:00Z")

    jobs = [waits(f"p{i}", 10 + i) for i in range(4)]
    assert verdict([*jobs, waits("j", 1)]).verdict.status == "FITS_NOW"
    told = verdict([*jobs, waits("j", 20)])
    assert (told.verdict.status, len(told.verdict.behind)) == ("FITS_ALONE", 4)


def test_who_waits_behind_takes_other_nodes_or_is_not_named() -> None:
    nodes = [*RACKS, node("x", gpu=8, labels={"pool": "x"})]
    jobs = [job(f"p{i}", pods(gpu=8), priority=9) for i in range(4)]
    only = pods(gpu=8, nodeSelector={"pool": "x"})
    told = verdict([*jobs, job("first", only, priority=9), job("j", only, priority=1)], nodes)
    assert told.verdict.behind == ("default/first",)


def test_without_the_time_to_plan_for_all_a_verdict_speaks_of_the_job_alone() -> None:
    jobs = [job(f"p{i}", pods(gpu=8), priority=9) for i in range(4)]
    question = asked(RACKS, [*jobs, job("j", pods(gpu=8), priority=1)])
    told = explained(question).verdict
    alone = told.model_copy(
        update={"status": "FITS_NOW", "message": "FITS NOW: its pod has room as it stands."}
    )
    assert beside_others(alone, Beside(others=4)).message == (
        "FITS ALONE, if nothing else is planned: its pod has room as it stands. Whether it also "
        "fits together with the 4 other pending jobs was not decided."
    )
    assert beside_others(alone, Beside(others=0)) is alone


def test_a_verdict_that_a_quick_plan_gives_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kantopt.planning.beside.is_small", lambda _: False)
    jobs = [job(f"p{i}", pods(gpu=8), priority=9) for i in range(4)]
    told = verdict([*jobs, job("j", pods(gpu=8), priority=1)]).verdict
    assert told.message.startswith("FITS ALONE, WAITS in a quick plan behind 4 jobs: default/p0, ")


def test_what_if_says_whether_a_change_is_enough_beside_others() -> None:
    """With one node more the job has room beside the others; with a quota more it has not."""
    jobs = [job(f"p{i}", pods(gpu=8), priority=9) for i in range(4)]
    question = asked(RACKS, [*jobs, job("j", pods(gpu=8), priority=1)])
    for edit, status in (
        ("add-nodes=n0:1", "FITS_NOW"),
        ("remove=default/p0", "FITS_NOW"),
        ("priority=default/j:10", "FITS_NOW"),
        ("set=default/j:gpu=4", "FITS_ALONE"),
    ):
        change = explained(question, edits=(edit.replace(":gpu=", f":{GPU}="),)).what_if
        assert change is not None
        assert change.verdict.status == status, edit


def test_a_remedy_that_is_enough_for_the_job_alone_is_told_from_one_beside_others() -> None:
    runs = [job(f"r{i}", pods(gpu=8, on=[f"n{i}"]), priority=5) for i in range(4)]
    first = job("first", pods(gpu=8), priority=5, creationTime="2025-12-01T00:00:00Z")
    told = verdict([*runs, first, job("j", pods(gpu=8), priority=5)])
    said = {remedy.kind: (remedy.together, remedy.behind) for remedy in told.remedies}
    assert said["add-nodes"] == ("waits", ("default/first",))
    assert said["raise-priority"] == ("placed", ())
    assert "waits behind 1 job" in "".join(map(str, explanation_blocks(told)))
    told = verdict([*runs, job("j", pods(gpu=8), priority=5)])
    assert {remedy.together for remedy in told.remedies} == {"placed"}
    assert "BESIDE ALL" not in "".join(map(str, explanation_blocks(told)))


def test_one_victim_is_the_least_only_where_no_lesser_one_is_to_be_had() -> None:
    """Found without a proof: of two priorities the one evicted may not be the lower one."""
    both = [
        job("low", pods(gpu=8, on=["n0"]), priority=1, movable=False),
        job("high", pods(gpu=8, on=["n1"]), priority=2, movable=False),
        job("j", pods(gpu=8), priority=9),
    ]
    for jobs, least in ((both, False), (both[1:], True)):
        question = asked(RACKS[:2] if jobs is both else RACKS[1:2], jobs)
        instance = question.instance(model_of(question))
        j = instance.job_index["default/j"]
        whole = focused(instance, j)
        s, r = (instance.jobs[instance.job_index[f"default/{x}"]].podsets[0] for x in ("high", "j"))
        high = dict(instance.podsets[s].current)
        decision = Decision(instance.current.replace({s: {}, r: high}))
        assert verdicts._no_less(whole, j, decision) is least


def test_who_waits_alone_may_have_a_place_beside_others() -> None:
    """A pod of another job goes where the emptiest domain is, and the spread admits one more."""
    labels = {"app": "x"}
    even = {"maxSkew": 1, "topologyKey": "rack", "labelSelector": {"matchLabels": labels}}
    jobs = [
        job("r", pods(gpu=1, on=["n0"], labels=labels), movable=False),
        job("full", pods(gpu=6, on=["n1"]), movable=False),
        job("small", pods(gpu=2, labels=labels, nodeSelector={"rack": "c"}), priority=1),
        job("j", pods(gpu=4, labels=labels, topologySpreadConstraints=[even])),
    ]
    nodes = [node(f"n{i}", cpu=9, gpu=8, labels={"rack": "bc"[i]}) for i in range(2)]
    told = verdict(jobs, nodes)
    assert told.verdict.status == "WAITS"
    assert told.notes[-1:] == (
        "planned together with 1 other pending job it is placed, for what they change "
        "(kantopt plan --require default/j)",
    )


@pytest.mark.parametrize("priority", ["counts", "off"])
def test_of_one_job_the_strict_rule_is_asked_and_a_note_says_so(priority: str) -> None:
    jobs = [job("r", pods(gpu=8, on=["n0"]), priority=5), job("j", pods(gpu=8), priority=5)]
    question = asked(RACKS[:1], jobs, {"rules": {"priority": priority}})
    told = explained(question)
    assert told.verdict.status == "WAITS"
    assert [note for note in told.notes if f"priority: {priority}" in note]
    strict = explained(asked(RACKS[:1], jobs, {"rules": {"priority": "strict"}}))
    assert (strict.verdict, strict.notes) == (told.verdict, ())


def test_a_job_that_is_not_there() -> None:
    question = asked(RACKS, [job("j")])
    with pytest.raises(UsageError, match="did you mean"):
        explained(question, "default/jj")


def test_errors_cross_from_process_to_process() -> None:
    import pickle

    from kantopt.errors import Problem

    error = BadDataError([Problem("f", "p", "x", "y")])
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_who_lacks_only_the_balance_that_others_would_make_waits_and_is_not_hopeless() -> None:
    """Nothing of its own may go to the second rack, but pods of others there would let it in."""
    labels = {"app": "x"}
    even = {"maxSkew": 1, "topologyKey": "rack", "labelSelector": {"matchLabels": labels}}
    tainted = [{"key": "no", "effect": "NoSchedule"}]
    nodes = [
        node("a", cpu=9, labels={"rack": "a"}),
        node("b", labels={"rack": "b"}, taints=tainted),
    ]
    jobs = [job("j", pods(count=2, labels=labels, topologySpreadConstraints=[even]))]
    told = verdict(jobs, nodes)
    assert told.verdict.status == "WAITS"
    assert told.verdict.proved
    (alone,) = [a for a in told.verdict.answers if a.question == "on an empty cluster"]
    assert alone.answer == "no"
    wide = verdict([job("j", pods(count=2, cpu=99, labels=labels))], nodes)
    assert wide.verdict.status == "NEVER"


def test_pods_above_the_minimum_have_what_room_a_victim_leaves_beside_those_that_it_goes_for() -> (
    None
):
    runs = job("r", pods(gpu=4, on=["n"]), priority=0, movable=False)
    wanted = job("j", pods(count=2, gpu=2), minCount=1, priority=9)
    told = explained(asked([node("n", gpu=4)], [runs, wanted]))
    assert told.plan is not None
    assert (told.plan.placed_pods, told.plan.evicted_pods) == (2, 1)
    assert "waits" not in told.verdict.message
