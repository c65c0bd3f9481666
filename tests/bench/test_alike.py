"""Clusters of which all jobs ask alike: the same for a seed, sound as they stand."""

from __future__ import annotations

from kantopt.problem.build import build_instance
from kantopt.schema.extends import load_model
from kantopt.verify.rules import check
from scripts.bench.alike import cases


def test_clusters_are_sound_and_the_same_for_a_seed() -> None:
    drawn = {case.parameters["kind"]: case.make() for case in cases((40,), (1,))}
    assert drawn == {case.parameters["kind"]: case.make() for case in cases((40,), (1,))}
    built = {
        kind: build_instance(each.snapshot, each.pending, load_model("mixed"))
        for kind, each in drawn.items()
    }
    assert [check(each, each.current) for each in built.values()] == [[]] * 6
    jobs = {kind: len(each.jobs) for kind, each in built.items()}
    assert jobs["queue"] == 50 * 40
    assert min(jobs.values()) > 100
    assert len(built["spread"].spreads) == len(built["near"].affinities) == jobs["near"]
    assert built["apart"].anti_affinities
