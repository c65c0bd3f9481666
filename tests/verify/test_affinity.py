"""R16: pods come only where one is that they must be near, before them and while they come."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.search.order.sequence import sequence
from kantopt.verify.replay import replay
from tests.verify.test_replay import act, at_once, in_a_row, said
from tests.verify.world import HOST, Document, broken, job, node, pods, put, question, standing

NODES = [node(name, cpu=64, rack=f"x/{name[0]}") for name in ("a1", "a2", "b1", "b2")]
LONE = node("lone", cpu=64)


def near(*names: str, key: str = "rack", **more: Any) -> Document:
    """Near pods of each of some jobs; of one with two names only pods count that are both."""
    terms = [
        {"topologyKey": key, "labelSelector": {"matchLabels": {"job": name}}, **more}
        for name in names
    ]
    return {"podAffinity": terms}


def why(domain: str, key: str = "rack", name: str = "j") -> list[str]:
    return [f"job default/{name} pod set main: 0 of 1 pods to be near in {key} {domain}"]


def allowed(instance: Instance, **where: Any) -> bool:
    return broken(instance, Rule.AFFINITY, **where) == []


def test_a_pod_comes_only_to_the_domain_of_one_that_it_must_be_near() -> None:
    instance = question(NODES, [job("r", pods(on=["a1"])), job("j", pods(**near("r")))])
    assert allowed(instance, j=["a2"])
    assert broken(instance, Rule.AFFINITY, j=["b1"]) == why("b")


def test_a_node_without_the_label_takes_none() -> None:
    jobs = [job("r", pods(on=["lone"])), job("j", pods(**near("r")))]
    instance = question([*NODES, LONE], jobs)
    assert broken(instance, Rule.AFFINITY, j=["lone"]) == [
        "job default/j pod set main: node lone without label rack"
    ]


def test_several_terms_ask_for_pods_that_match_them_all_in_each_domain() -> None:
    both = near("r")["podAffinity"] + near("r", key=HOST)["podAffinity"]
    jobs = [job("r", pods(count=2, on=["a1", "b1"])), job("j", pods(podAffinity=both))]
    instance = question(NODES, jobs)
    assert allowed(instance, j=["a1"])
    assert broken(instance, Rule.AFFINITY, j=["a2"]) == why("a2", HOST)
    jobs = [job("r", pods(on=["a1"])), job("k", pods(on=["a1"])), job("j", pods(**near("r", "k")))]
    assert broken(question(NODES, jobs), Rule.AFFINITY, j=["a1"]) == why("a")


def test_the_pod_of_each_domain_may_be_another() -> None:
    nodes = [node(n, cpu=64, labels={"row": n[0], "column": n[1]}) for n in ("a1", "a2", "b1")]
    both = near("r", key="row")["podAffinity"] + near("r", key="column")["podAffinity"]
    jobs = [job("r", pods(count=2, on=["a2", "b1"])), job("j", pods(podAffinity=both))]
    assert allowed(question(nodes, jobs), j=["a1"])


def test_a_pod_that_asks_for_its_own_like_may_be_the_first_of_them() -> None:
    instance = question(NODES, [job("j", pods(count=3, **near("j")))])
    assert allowed(instance, j=["a1", "a2"])
    assert broken(instance, Rule.AFFINITY, j=["a1", "b1"]) == why("a") + why("b")


def test_the_first_is_no_company_for_one_on_a_node_without_the_label() -> None:
    like = {"labels": {"team": "x"}}
    term = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"team": "x"}}}
    jobs = [job("r", pods(**like)), job("j", pods(podAffinity=[term], **like))]
    instance = question([*NODES, LONE], jobs)
    assert len(broken(instance, Rule.AFFINITY, j=["lone"])) == 1
    assert len(broken(instance, Rule.AFFINITY, r=["a1"], j=["lone"])) == 1


def test_a_pod_that_matches_only_some_of_its_terms_is_never_the_first() -> None:
    terms = near("j")["podAffinity"] + near("r")["podAffinity"]
    instance = question(NODES, [job("j", pods(podAffinity=terms))])
    assert broken(instance, Rule.AFFINITY, j=["a1"]) == why("a")


def test_where_one_of_them_runs_no_second_domain_is_founded() -> None:
    instance = question(NODES, [job("j", pods(count=2, minCount=0, on=["a1"], **near("j")))])
    assert said_of(instance, {"j+": ["a2"]}) == []
    assert said_of(instance, {"j+": ["b1"]}) == why("b")
    assert said_of(instance, {"j+": ["b1"], "j": []}) == []


def test_one_that_runs_where_no_label_is_does_not_count() -> None:
    jobs = [job("j", pods(count=2, minCount=0, on=["lone"], **near("j")))]
    instance = question([*NODES, LONE], jobs)
    assert said_of(instance, {"j+": ["b1"]}) == []


def test_a_pod_may_wait_for_one_that_comes_with_it() -> None:
    instance = question(NODES, [job("r"), job("j", pods(**near("r")))])
    assert allowed(instance, r=["a1"], j=["a2"])
    assert broken(instance, Rule.AFFINITY, r=["b1"], j=["a1"]) == why("a")
    assert broken(instance, Rule.AFFINITY, j=["a1"]) == why("a")


def test_pods_that_wait_for_each_other_never_come() -> None:
    instance = question(NODES, [job("i", pods(**near("j"))), job("j", pods(**near("i")))])
    assert len(broken(instance, Rule.AFFINITY, i=["a1"], j=["a1"])) == 2


def test_a_pod_is_not_near_one_that_leaves() -> None:
    instance = question(NODES, [job("r", pods(on=["a1"])), job("j", pods(**near("r")))])
    assert broken(instance, Rule.AFFINITY, r=["b1"], j=["a1"]) == why("a")
    assert broken(instance, Rule.AFFINITY, r=[], j=["a1"]) == why("a")
    assert allowed(instance, r=["b1"], j=["b1"])


def test_a_pod_that_runs_stays_when_the_other_leaves() -> None:
    jobs = [job("r", pods(on=["a1"])), job("j", pods(on=["a1"], **near("r")))]
    instance = question(NODES, jobs)
    assert allowed(instance, r=["b1"])
    assert standing(question(NODES, jobs[1:]), Rule.AFFINITY) == []


def test_a_pod_that_moves_is_not_near_itself_but_may_be_the_first_of_its_like() -> None:
    alone = question(NODES, [job("j", pods(on=["a1"], **near("j")))])
    assert allowed(alone, j=["b1"])
    two = question(NODES, [job("j", pods(count=2, on=["a1", "a2"], **near("j")))])
    assert broken(two, Rule.AFFINITY, j=["a1", "b1"]) == why("b")
    assert broken(two, Rule.AFFINITY, j=["b1", "b2"]) == why("b") + why("b")
    assert broken(two, Rule.AFFINITY, j=["a1", "b2"]) == why("b")
    assert allowed(two, j=["b1"])


def test_pods_of_a_job_that_restarts_as_a_whole_stay_nowhere() -> None:
    whole, like = {"disruptionMode": "all"}, {"labels": {"team": "x"}}
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"team": "x"}}}
    jobs = [
        job("j", pods(count=2, on=["a1", "b1"], podAffinity=[term], **like), **whole),
        job("r", pods(on=["a1"], **like)),
    ]
    instance = question(NODES, jobs)
    assert broken(instance, Rule.AFFINITY, j=["b1", "b1"]) == why("b1", HOST)
    assert allowed(instance, j=["a1", "a1"])
    assert allowed(question(NODES, jobs[:1]), j=["b1", "b1"])


def test_one_that_moves_as_the_first_is_company_for_those_that_come() -> None:
    like = {"labels": {"team": "x"}}
    term = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"team": "x"}}}
    jobs = [
        job(name, pods(podAffinity=[term], **like, **on))
        for name, on in (
            ("j", {"on": ["a1"]}),
            ("k", {}),
        )
    ]
    instance = question(NODES, jobs)
    assert allowed(instance, j=["b1"], k=["b2"])
    assert len(broken(instance, Rule.AFFINITY, j=["b1"], k=["a1"])) == 2
    assert allowed(instance, j=[], k=["b1"])


def test_pods_of_another_namespace_count_only_if_it_is_named() -> None:
    jobs = [
        job("r", pods(on=["a1"]), namespace="other"),
        job("j", pods(**near("r"))),
        job("k", pods(**near("r", namespaces=["other"]))),
    ]
    instance = question(NODES, jobs)
    assert broken(instance, Rule.AFFINITY, j=["a1"]) == why("a")
    assert allowed(instance, k=["a1"])


def test_a_term_without_selector_is_met_by_nobody() -> None:
    wish = {"podAffinity": [{"topologyKey": "rack"}]}
    instance = question(NODES, [job("r", pods(on=["a1"])), job("j", pods(**wish))])
    assert broken(instance, Rule.AFFINITY, j=["a1"]) == why("a")


# While waves run.


def follower() -> Instance:
    """A pod that moves away, one that comes, and one that must be near either."""
    like = {"labels": {"team": "x"}}
    term = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"team": "x"}}}
    jobs = [job("r", pods(on=["a1"], **like)), job("s", pods(**like))]
    return question(NODES, [*jobs, job("j", pods(podAffinity=[term]))])


def test_one_to_be_near_must_be_there_before_and_stay_while_others_come() -> None:
    instance = follower()
    first, then = act(instance, "s", None, "b1"), act(instance, "j", None, "b2")
    assert said(instance, in_a_row([first], [then])) == []
    assert said(instance, in_a_row([first, then])) == []
    late = [f"affinity: wave 0: {why('b')[0]}"]
    assert said(instance, in_a_row([then], [first])) == late
    assert said(instance, at_once([then], [first])) == late


def test_one_that_leaves_beside_the_wave_is_nobody_to_be_near() -> None:
    instance = follower()
    leave, come = act(instance, "r", "a1", "b1"), act(instance, "s", None, "a1")
    then = act(instance, "j", None, "a2")
    assert said(instance, in_a_row([come], [then], [leave])) == []
    assert said(instance, in_a_row([leave], [come], [then])) == []
    assert said(instance, in_a_row([then, leave], [come])) == [f"affinity: wave 0: {why('a')[0]}"]
    waves = in_a_row([then], [come])
    assert said(instance, [*waves, *at_once([leave])]) == [f"affinity: wave 0: {why('a')[0]}"]


def test_the_first_comes_when_all_others_of_its_like_are_gone() -> None:
    like = {"labels": {"team": "x"}}
    term = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"team": "x"}}}
    jobs = [job("r", pods(on=["a1"], **like)), job("j", pods(podAffinity=[term], **like))]
    instance = question(NODES, jobs, rules={"priority": "off"})
    evict, found = act(instance, "r", "a1", None), act(instance, "j", None, "b1")
    assert said(instance, in_a_row([evict], [found])) == []
    late = [f"affinity: wave 0: {why('b')[0]}"]
    assert said(instance, in_a_row([evict, found])) == late
    assert said(instance, in_a_row([found], [evict])) == late


def test_one_that_moves_is_the_first_when_all_others_of_its_like_are_gone() -> None:
    like = {"labels": {"team": "x"}}
    term = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"team": "x"}}}
    jobs = [
        job(name, pods(on=[on], podAffinity=[term], **like))
        for name, on in (
            ("r", "a2"),
            ("j", "a1"),
        )
    ]
    instance = question(NODES, jobs, rules={"priority": "off"})
    evict, move = act(instance, "r", "a2", None), act(instance, "j", "a1", "b1")
    assert said(instance, in_a_row([evict], [move])) == []
    late = [f"affinity: wave 0: {why('b')[0]}"]
    assert said(instance, in_a_row([evict, move])) == late
    assert said(instance, at_once([move], [evict])) == late
    away = put(instance, {"r": [], "j": ["b1"]})
    waves = sequence(instance, away)
    assert waves is not None
    assert replay(instance, waves) == ([], away)


def test_of_several_that_restart_together_none_is_the_first() -> None:
    """Another brings company to where they go: they may come once it is there."""
    like = {"labels": {"team": "x"}}
    term = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"team": "x"}}}
    parts = pods(count=2, on=["a1", "a1"], podAffinity=[term], **like)
    instance = question(NODES, [job("j", parts), job("p", pods(**like))])
    move, come = act(instance, "j", "a1", "b1", 2), act(instance, "p", None, "b1")
    late = [f"affinity: wave 0: {why('b')[0]}"]
    assert late[0] in said(instance, in_a_row([move]))
    assert said(instance, in_a_row([move], [come])) == late
    assert said(instance, in_a_row([come], [move])) == []


def test_a_job_that_restarts_as_a_whole_comes_near_itself_in_one_wave() -> None:
    parts = pods(count=2, on=["a1", "a2"], **near("j"))
    instance = question(NODES, [job("j", parts, disruptionMode="all")])
    one, other = act(instance, "j", "a1", "b1"), act(instance, "j", "a2", "b2")
    assert said(instance, in_a_row([one, other])) == []
    late = f"affinity: wave 0: {why('b')[0]}"
    assert late in said(instance, in_a_row([one], [other]))
    away = put(instance, {"j": ["b1", "b2"]})
    waves = sequence(instance, away)
    assert waves is not None
    assert [len(wave.actions) for wave in waves] == [2]
    assert replay(instance, waves) == ([], away)


def test_a_pod_that_moves_live_is_not_the_first_for_it_is_still_there() -> None:
    instance = question(NODES, [job("j", pods(on=["a1"], **near("j")), moveMode="live")])
    assert broken(instance, Rule.AFFINITY, j=["b1"]) == why("b")
    assert allowed(instance, j=["a2"]) is False
    move = act(instance, "j", "a1", "b1")
    assert f"affinity: wave 0: {why('b')[0]}" in said(instance, in_a_row([move]))


@pytest.mark.parametrize("gone", [False, True])
def test_an_order_is_found_in_which_pods_come_to_those_they_must_be_near(gone: bool) -> None:
    """The follower comes after the one it must be near, which itself waits for room."""
    small = [node("a", cpu=4, rack="x/a"), node("b", cpu=4, rack="x/b")]
    jobs = [
        job("old", pods(cpu=3, on=["a"]), priority=0),
        job("r", pods(cpu=2), priority=9),
        job("j", pods(cpu=1, **near("r", key=HOST)), priority=9),
    ]
    instance = question(small, jobs, rules={"priority": "off"})
    target = put(instance, {"old": [] if gone else ["b"], "r": ["a"], "j": ["a"]})
    waves = sequence(instance, target)
    assert waves is not None
    assert replay(instance, waves) == ([], target)


def said_of(instance: Instance, where: dict[str, Any]) -> list[str]:
    from kantopt.verify.rules import check

    found = check(instance, put(instance, where), [Rule.AFFINITY])
    return [f"{v.subject}: {v.message}" for v in found]
