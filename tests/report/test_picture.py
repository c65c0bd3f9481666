"""Pictures: what is on the nodes is in the drawing, to scale, and nothing breaks the document."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace

from kantopt.report.picture import svg
from kantopt.schema.answers.picture import Bar, Picture, Pods, Stay
from kantopt.schema.answers.plan import Unplaced

TAG = "{http://www.w3.org/2000/svg}"
STAYS = Stay(Pods("a/<b>&c", "w", (4000,), 10, 1.0), 1)
LEAVES = Stay(Pods("a/d", "w", (2000,), 1, 0.0), 1, goes="evicted", until=1)
COMES = Stay(Pods("a/e", "w", (2000,), 5, 0.5), 2, came="bound", since=1)
STAYING = (STAYS, LEAVES, COMES)


def bar(name: str, domain: str = "r0", stays: Sequence[Stay] = (), *marks: str) -> Bar:
    return Bar(name, (domain,), (8000,), tuple(stays), marks=marks)


def picture(
    *bars: Bar, planned: bool = True, resource: str = "milli-GPU", waiting: Sequence[Unplaced] = ()
) -> Picture:
    gpus = resource == "milli-GPU"
    return Picture(
        name="t",
        captured_at="",
        resources=(resource,),
        accelerators=int(gpus),
        planned=planned,
        levels=("rack",),
        bars=bars,
        steps=(),
        waiting=tuple(waiting),
        partly_used=(1, 0) if gpus else (),
        fault="",
    )


def drawn(*bars: Bar, planned: bool = True, waiting: Sequence[Unplaced] = ()) -> ET.Element:
    return ET.fromstring(svg(picture(*bars, planned=planned, waiting=waiting)))


def told(root: ET.Element) -> dict[str, list[ET.Element]]:
    """Rectangles by what they say on hovering."""
    found: dict[str, list[ET.Element]] = {}
    for rect in root.iter(f"{TAG}rect"):
        said = rect.findtext(f"{TAG}title")
        if said is not None:
            found.setdefault(said, []).append(rect)
    return found


def test_every_piece_is_drawn_to_scale_and_says_what_it_is() -> None:
    rects = told(drawn(bar("gpu-01", "r0", STAYING)))
    assert {said: len(each) for said, each in rects.items()} == {
        "gpu-01: 2 GPUs of 8 GPUs free": 1,
        "gpu-01: 0 GPUs of 8 GPUs free": 1,
        "a/<b>&c/w x1: 4 GPUs, priority 10, stays": 2,
        "a/d/w x1: 2 GPUs, priority 1, evicted": 1,
        "a/e/w x2: 4 GPUs, priority 5, bound": 1,
    }
    whole = float(rects["gpu-01: 2 GPUs of 8 GPUs free"][0].attrib["width"])
    widths = [float(rects[said][0].attrib["width"]) / whole for said in list(rects)[1:3]]
    assert widths == [0.5, 0.25]


def test_without_a_plan_there_is_one_bar_a_node() -> None:
    root = drawn(bar("gpu-01", "r0", [STAYS]), planned=False)
    assert [len(each) for each in told(root).values()] == [1, 1]
    assert "evicted" not in "".join(root.itertext())


def test_many_nodes_are_drawn_thin_and_named_on_hovering_only() -> None:
    few, many = (drawn(*(bar(f"n{i}") for i in range(n))) for n in (300, 301))
    assert "n7" in [text.text for text in few.iter(f"{TAG}text")]
    assert "n7" not in [text.text for text in many.iter(f"{TAG}text")]
    assert "n7: 8 GPUs of 8 GPUs free" in told(many)


def test_boxes_lie_inside_of_the_page_and_beside_each_other() -> None:
    root = drawn(*(bar(f"n{i}", f"r{i}", STAYING) for i in range(7)))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    boxes = [rect for rect in root.iter(f"{TAG}rect") if rect.get("rx") == "3"]
    corners = {(float(box.attrib["x"]), float(box.attrib["y"])) for box in boxes}
    assert len(corners) == 7
    assert all(
        float(box.attrib["x"]) + float(box.attrib["width"]) <= width
        and float(box.attrib["y"]) + float(box.attrib["height"]) <= height
        for box in boxes
    )


def test_what_it_shows_is_said_in_numbers() -> None:
    said = [
        text.text
        for text in drawn(bar("a", "r0", STAYING), bar("b", "r0", STAYING)).iter(f"{TAG}text")
    ]
    assert said[0] == "t: GPUs of each node, before and after"
    assert said[1] == "12 -> 16 of 16 GPUs in use on 2 nodes; nodes partly used: 1 -> 0"


def test_nothing_to_draw_is_a_page_all_the_same() -> None:
    assert told(ET.fromstring(svg(picture(resource="cpu")))) == {}


def test_what_is_more_than_a_node_has_stays_inside_of_its_box_and_is_marked() -> None:
    nine = Stay(Pods("a/f", "w", (1000,), 5, 0.5), 9)
    root = drawn(bar("over", "r0", [nine]), bar("fits", "r0", [STAYS]), planned=False)
    (box,) = (rect for rect in root.iter(f"{TAG}rect") if rect.get("rx") == "3")
    end = float(box.attrib["x"]) + float(box.attrib["width"])
    rects = [rect for rect in root.iter(f"{TAG}rect") if rect is not box][1:]
    assert all(float(r.attrib["x"]) + float(r.attrib["width"]) <= end for r in rects if r.get("x"))
    assert "over: 9 GPUs in use, it has 8 GPUs" in told(root)
    assert [rect.get("fill") for rect in rects if rect.get("stroke") == "#c1121f"] == ["none"]


def test_nodes_that_keep_pods_away_do_not_look_free() -> None:
    root = drawn(bar("n", "r0", (), "not ready", "cordoned"), bar("free"), planned=False)
    fills = {said: rects[0].get("fill") for said, rects in told(root).items()}
    assert fills == {
        "n: 8 GPUs of 8 GPUs free; not ready; cordoned": "url(#barred)",
        "free: 8 GPUs of 8 GPUs free": "#fff",
    }
    assert "keeps pods away" in [text.text for text in root.iter(f"{TAG}text")]


def test_gangs_that_are_bound_have_colours_of_their_own() -> None:
    gangs = [Stay(Pods(f"a/{i}", "w", (2000,), 5, 0.5), 2, "bound", since=1) for i in range(2)]
    rects = told(drawn(bar("n", "r0", gangs), bar("m", "r0", gangs)))
    colours = [
        {rect.get("fill") for rect in rects[f"a/{i}/w x2: 4 GPUs, priority 5, bound"]}
        for i in range(2)
    ]
    assert [len(each) for each in colours] == [1, 1]
    assert colours[0] != colours[1]


def test_who_waits_is_listed_with_the_reason() -> None:
    why = "0 of 2 nodes fit: " + "x" * 200
    jobs = [
        Unplaced(job=f"a/{i}", priority=i, pods=1, wanted=2, rule="capacity", message=why)
        for i in range(14)
    ]
    root = drawn(bar("n"), waiting=jobs)
    said = ["".join(text.itertext()) for text in root.iter(f"{TAG}text")]
    assert any(line.startswith("a/13, priority 13, 1 of 2 pods: capacity: 0 of 2") for line in said)
    assert said[-1] == "and 2 more"
    ends = [float(text.attrib["y"]) for text in root.iter(f"{TAG}text")]
    assert max(ends) < float(root.attrib["height"])


def test_nodes_of_other_devices_are_drawn_to_their_own_scale() -> None:
    two = Picture(
        name="t",
        captured_at="",
        resources=("milli-GPU", "nvidia.com/mig-1g.5gb"),
        accelerators=2,
        planned=False,
        levels=(),
        bars=(
            Bar("whole", ("nodes",), (8000, 0)),
            Bar("parts", ("nodes",), (0, 7), (Stay(Pods("a/g", "w", (0, 1), 1, 0.5), 3),)),
        ),
        steps=(),
        waiting=(),
        partly_used=(0,),
        fault="",
    )
    root = ET.fromstring(svg(two))
    rects = told(root)
    widths = {float(rects[said][0].attrib["width"]) for said in list(rects) if "free" in said}
    assert widths == {96.0}
    assert "a/g/w x3: 3 nvidia.com/mig-1g.5gb, priority 1, stays" in rects
    said = [text.text for text in root.iter(f"{TAG}text")]
    assert "0 of 8 GPUs in use on 1 node, 3 of 7 nvidia.com/mig-1g.5gb in use on 1 node; " in (
        f"{said[1]} "
    ).replace("nodes partly used: 0 ", "")


def test_lines_of_text_end_before_the_edge() -> None:
    shut = [bar(f"gpu-{i}", "r0", (), "cordoned") for i in range(2)]
    shown = replace(picture(*shut, planned=False), fault="a rule is broken " * 9)
    root = ET.fromstring(svg(shown))
    lines = [text for text in root.iter(f"{TAG}text") if text.get("fill") == "#444"]
    ends = [float(text.get("x", 0)) + 6.2 * len(text.text or "") for text in lines]
    assert max(ends) <= float(root.get("width", 0))
    (first,) = (float(text.get("y", 0)) for text in lines if text.text == "r0")
    notes = [text for text in lines if "rule is broken" in (text.text or "")]
    assert len(notes) > 1
    assert all(float(text.get("y", 0)) < first for text in notes)
