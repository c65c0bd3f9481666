"""The Slurm that tests drive: it starts, runs what it is told where it is told, and is gone."""

from __future__ import annotations

import pytest

from tests.slurm.cluster import Slurm, missing
from tests.slurm.story import ROOT, SNAPSHOT


def test_jobs_run_on_the_nodes_asked_for_and_nothing_is_left_behind() -> None:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with Slurm(nodes=4, per_leaf=2) as slurm:
        job = slurm.submit("gang", "--nodes=2", "--gres=gpu:h100:8", "--hold")
        slurm.run("scontrol", "update", f"JobId={job}", "ReqNodeList=n[2,4]")
        slurm.run("scontrol", "release", job)
        slurm.await_state("RUNNING", job)
        assert slurm.hosts(job) == ["n2", "n4"]
        other = slurm.submit("other", "--nodes=3", "--gres=gpu:1")
        slurm.wait(lambda: slurm.job(other)["Reason"] == "Resources", lambda: str(slurm.job(other)))
        begun = slurm.processes()
        assert len(begun) > 6  # munge, the controller, four nodes, and the job
    assert not slurm.processes()
    assert not slurm.folder.exists()


def test_snapshots_are_taken_as_the_guide_says() -> None:
    guide = (ROOT / "docs" / "with-slurm.md").read_text(encoding="utf-8").splitlines()
    told = {line.partition("  #")[0].strip().removesuffix(" 2>&1") for line in guide}
    assert "export SLURM_TIME_FORMAT=%s" in told
    for name, command in SNAPSHOT.items():
        assert f"{command} > {name}" in told
