"""Who waits for devices that pods have in parts, or together, has a place on the empty cluster."""

from __future__ import annotations

from kantopt.planning.question import question_of
from kantopt.schema.answers.explanation import Explanation
from kantopt.schema.raw import RawDocument
from tests.explain.helpers import explained
from tests.formats.cluster_objects import Object
from tests.formats.device_objects import BASE, claim, exactly, given, pair, user
from tests.formats.test_shared_gpus import asking, shared


def told(*objects: Object) -> Explanation:
    dump = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    return explained(question_of([RawDocument("dump.json", 0, dump)]))


def ends(found: Explanation) -> list[str]:
    return [remedy.edit for remedy in found.remedies if remedy.kind == "end"]


def test_who_wants_devices_of_a_shared_claim_waits() -> None:
    held = [user(name, "r", on="a") for name in ("one", "other")]
    held.append(given(claim("r"), "a", "g1", by=("uid-one", "uid-other")))
    found = told(BASE[0], *BASE[2:4], *held, *pair("j", exactly(2)))
    assert found.verdict.status == "WAITS"
    assert not ends(found)


def test_who_wants_a_gpu_of_which_others_have_parts_waits() -> None:
    wants = asking("j", 200)
    alone = told(shared(2), asking("half", 50, "a", 0), wants)
    assert alone.verdict.status == "WAITS"
    assert ends(alone) == ["remove=default/half"]
    both = told(shared(2), *(asking(name, 30, "a", 0) for name in ("one", "other")), wants)
    assert both.verdict.status == "WAITS"
    assert not ends(both)
