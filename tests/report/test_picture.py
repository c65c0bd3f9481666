"""Pictures: what is on the nodes is in the drawing, to scale, and nothing breaks the document."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from kantopt.report.picture import svg
from kantopt.schema.picture import Bar, Box, Picture, Piece

TAG = "{http://www.w3.org/2000/svg}"
STAYS = Piece("a/<b>&c x1", 4000, "stays", 1.0, 10)
LEAVES = Piece("a/d x1", 2000, "evicted", 0.0, 1)
COMES = Piece("a/e x2", 4000, "bound", 0.5, 5)
BAR = Bar("gpu-01", 8000, (STAYS, LEAVES), (STAYS, COMES))


def drawn(*bars: Bar, planned: bool = True, boxes: int = 1) -> ET.Element:
    each = tuple(Box(f"r{i}", bars) for i in range(boxes))
    return ET.fromstring(svg(Picture("t", "milli-GPU", planned, each, (1, 0), 0, "")))


def told(root: ET.Element) -> dict[str, list[ET.Element]]:
    """Rectangles by what they say on hovering."""
    found: dict[str, list[ET.Element]] = {}
    for rect in root.iter(f"{TAG}rect"):
        said = rect.findtext(f"{TAG}title")
        if said is not None:
            found.setdefault(said, []).append(rect)
    return found


def test_every_piece_is_drawn_to_scale_and_says_what_it_is() -> None:
    rects = told(drawn(BAR))
    assert {said: len(each) for said, each in rects.items()} == {
        "gpu-01: 2 GPUs of 8 GPUs free": 1,
        "gpu-01: 0 GPUs of 8 GPUs free": 1,
        "a/<b>&c x1: 4 GPUs, priority 10, stays": 2,
        "a/d x1: 2 GPUs, priority 1, evicted": 1,
        "a/e x2: 4 GPUs, priority 5, bound": 1,
    }
    whole = float(rects["gpu-01: 2 GPUs of 8 GPUs free"][0].attrib["width"])
    widths = [float(rects[said][0].attrib["width"]) / whole for said in list(rects)[1:3]]
    assert widths == [0.5, 0.25]


def test_without_a_plan_there_is_one_bar_a_node() -> None:
    root = drawn(Bar("gpu-01", 8000, (STAYS,), (STAYS,)), planned=False)
    assert [len(each) for each in told(root).values()] == [1, 1]
    assert "evicted" not in "".join(root.itertext())


def test_many_nodes_are_drawn_thin_and_named_on_hovering_only() -> None:
    few, many = (drawn(*(Bar(f"n{i}", 8000, (), ()) for i in range(n))) for n in (300, 301))
    assert "n7" in [text.text for text in few.iter(f"{TAG}text")]
    assert "n7" not in [text.text for text in many.iter(f"{TAG}text")]
    assert "n7: 8 GPUs of 8 GPUs free" in told(many)


def test_boxes_lie_inside_of_the_page_and_beside_each_other() -> None:
    root = drawn(BAR, boxes=7)
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
    said = [text.text for text in drawn(BAR, BAR).iter(f"{TAG}text")]
    assert said[0] == "t: GPUs of each node, before and after"
    assert said[1] == "12 -> 16 of 16 GPUs in use on 2 nodes; nodes partly used: 1 -> 0"


def test_nothing_to_draw_is_a_page_all_the_same() -> None:
    assert told(ET.fromstring(svg(Picture("t", "cpu", True, (), (), 2, "")))) == {}
