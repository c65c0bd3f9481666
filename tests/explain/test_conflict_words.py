"""What a line of a conflict says of nodes."""

from __future__ import annotations

from kantopt.planning.explain.conflict import Wording
from kantopt.problem.focus import wanted_pods
from kantopt.schema.model import Rule
from kantopt.search.explain.conflict import Found
from kantopt.search.explain.places import Survey
from tests.verify.world import job, node, pods, question


def test_of_nodes_that_admit_the_job_it_is_said_that_others_are_not_admitted() -> None:
    """A conflict that was not narrowed down has lines about nodes that only others may not use."""
    asked = question(
        [node("a", labels={"pool": "gpu"}), node("b", labels={"pool": "cpu"})],
        [
            job("r", pods(cpu=4, on=["b"], nodeSelector={"pool": "cpu"})),
            job("new", pods(cpu=8, nodeSelector={"pool": "gpu"})),
        ],
    )
    j = next(each.index for each in asked.jobs if each.name.endswith("new"))
    groups = tuple((Rule.ELIGIBILITY, ("node", n)) for n in (0, 1))
    found = Found((Rule.ELIGIBILITY,), groups, True, False, True)
    ((s, wanted),) = wanted_pods(asked, j).items()
    places = Survey(asked).places(s, wanted)
    words = Wording(asked, j, found, places, asked.model.limits, empty=False)
    said = {item.subject: item.message for item in words.document("as it stands").items}
    assert said == {
        "node a": "admits its pods, but not all that others could move there",
        "node b": "0 pods admitted: didn't match Pod's node affinity/selector",
    }
