"""Pictures of simulations say what they show, and show it to scale."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from kantopt.report.simulation_pictures import PARTS, simulation_pictures
from kantopt.schema.answers.simulation import Simulation
from kantopt.simulate.figures import figures_of
from kantopt.simulate.history import History
from kantopt.simulate.metrics.gpu_time import Parts
from tests.simulate.histories import drawn, job, sample

TAG = "{http://www.w3.org/2000/svg}"


def drawings(simulation: Simulation) -> dict[str, ET.Element]:
    return {name: ET.fromstring(text) for name, text in simulation_pictures(simulation).items()}


def words(root: ET.Element) -> list[str]:
    return [each.text or "" for each in root.iter(f"{TAG}text")]


def history(policy: str, running: int, *jobs: dict[str, int]) -> History:
    moment = sample(reserved=running, running=running, fragmented=running % 8000 > 0)
    records = [job(f"n/{i}", **given) for i, given in enumerate(jobs)]
    return History(policy, "t", 100_000, 16_000, records, [], [moment])


def two() -> Simulation:
    return figures_of(
        [
            history("fifo <&>", 4000, {"started": 30_000}, {}),
            history("easy", 12_000, {"started": 2000}, {"started": 50_000}),
        ],
        name="small",
    )


def test_every_part_of_the_gpu_time_has_a_colour() -> None:
    assert tuple(PARTS) == Parts._fields
    assert len({colour for _, colour in PARTS.values()}) == len(PARTS)


def test_titles_say_what_one_sees() -> None:
    found = {name: words(root)[0] for name, root in drawings(two()).items()}
    assert found == {
        "gpus-over-time.svg": "GPU time spent running: fifo <&> 25.0%, easy 75.0%",
        "fragmentation-over-time.svg": "GPU nodes partly used (GFR), mean over time: "
        "fifo <&> 50.0%, easy 50.0%",
        "waiting-times.svg": "Half of the jobs start within: fifo <&> 30s, easy 2s",
    }


def test_of_many_policies_the_best_and_the_worst_are_named() -> None:
    told = [history(f"p{i}", 1000 * i, {"started": 9000 - 1000 * i}) for i in range(1, 6)]
    found = {name: words(root)[0] for name, root in drawings(figures_of(told)).items()}
    assert found["gpus-over-time.svg"].endswith("best p5 31.2%, worst p1 6.2%")
    assert found["waiting-times.svg"].endswith("best p5 4s, worst p1 8s")


def test_axes_and_lines_have_their_names() -> None:
    found = {name: words(root) for name, root in drawings(two()).items()}
    assert {"GPUs", "time since the start of the trace", "75.0% running"} <= set(
        found["gpus-over-time.svg"]
    )
    assert {
        "waited at most (logarithmic)",
        "fifo <&>, 1 not started",
        "easy",
        "10s",
        "1m",
    } <= set(found["waiting-times.svg"])
    assert "easy, mean 50.0%" in found["fragmentation-over-time.svg"]


def test_areas_are_to_scale() -> None:
    root = drawings(two())["gpus-over-time.svg"]
    areas = [path.attrib for path in root.iter(f"{TAG}path")]
    assert [each["fill"] for each in areas] == [PARTS["running"][1], PARTS["idle"][1]] * 2
    heights = []
    for each in areas:
        ys = [float(part.split("H")[0]) for part in each["d"].split("V")[1:]]
        heights.append(max(ys) - min(ys))
    assert heights == pytest.approx([170 / 4, 170 * 3 / 4, 170 * 3 / 4, 170 / 4], abs=0.11)


def test_a_curve_ends_where_nobody_was_seen_longer() -> None:
    root = drawings(two())["waiting-times.svg"]
    ends = [
        float(line.attrib["points"].split()[-1].split(",")[0])
        for line in root.iter(f"{TAG}polyline")
    ]
    assert ends[0] > ends[1]  # 100 s, 50 s
    assert ends[0] < 76 + 640


@pytest.mark.parametrize("seed", range(5))
def test_all_that_is_drawn_lies_on_the_page(seed: int) -> None:
    simulation = figures_of([drawn(seed + 10 * k, f"p{k}", "t") for k in range(8)])
    for root in drawings(simulation).values():
        width, height = float(root.attrib["width"]), float(root.attrib["height"])
        for each in root.iter(f"{TAG}text"):
            assert 0 < float(each.attrib["x"]) < width
            assert 0 < float(each.attrib["y"]) < height
        for line in root.iter(f"{TAG}polyline"):
            for point in line.attrib["points"].split():
                x, y = map(float, point.split(","))
                assert 0 < x < width
                assert 0 < y < height


def test_without_a_job_waiting_times_are_not_drawn() -> None:
    assert set(drawings(figures_of([history("p", 0)]))) == {
        *("gpus-over-time.svg", "fragmentation-over-time.svg")
    }
