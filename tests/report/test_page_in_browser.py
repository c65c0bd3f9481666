"""Pages in a real browser: they open, the map follows the slider, jobs are found, no errors."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kantopt import clock
from kantopt.cli.endings import run
from tests.report.test_page import HOSTILE, hostile_page

browsers = pytest.importorskip("tests.browser", reason="Selenium is not installed")
pytestmark = pytest.mark.skipif(
    bool(browsers.missing()), reason=f"not there: {browsers.missing() or '-'}"
)
TRACE = str(Path(__file__).parents[2] / "instances" / "over-time" / "trace.yaml")
QUICKSTART = Path(__file__).parents[2] / "instances" / "quickstart"
if not browsers.missing():
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.remote.webdriver import WebDriver
    from selenium.webdriver.remote.webelement import WebElement


@pytest.fixture(scope="module")
def driver() -> Iterator[WebDriver]:
    with browsers.browser() as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of the quickstart with a plan, and of a large cluster as it stands."""
    folder = tmp_path_factory.mktemp("pages")
    files = [str(path) for path in sorted(QUICKSTART.glob("*.yaml"))]
    plan = str(folder / "plan.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "_START", time.monotonic())
        assert run(["plan", *files, "--deterministic", "-q", "-o", "json", "-O", plan]) == 0
    page = str(folder / "planned.html")
    assert run(["render", *files, plan, "--to", "html", "-q", "-O", page]) == 0

    from kantopt.schema.dump import dump_json
    from scripts.measure_page import cluster

    snapshot = folder / "large.json"
    snapshot.write_text(dump_json(cluster(600).snapshot))
    page = str(folder / "large.html")
    assert run(["render", str(snapshot), "--to", "html", "-q", "-O", page]) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "_START", time.monotonic())
        for name, *asked in (
            ("certified", "certify", *files, "--deterministic"),
            ("explained", "explain", *files, "research/vision"),
            ("simulated", "simulate", files[1], TRACE, "--policy", "fifo", "--policy", "e-binpack"),
        ):
            run([*asked, "-q", "-o", "html", "-O", str(folder / f"{name}.html")])
    (folder / "hostile.html").write_text(hostile_page())
    return folder


@pytest.fixture
def planned(driver: WebDriver, pages: Path) -> Iterator[WebDriver]:
    """The page of a plan, just opened; at the end nothing was said and nothing asked for."""
    yield from opened(driver, pages / "planned.html")


@pytest.fixture
def large(driver: WebDriver, pages: Path) -> Iterator[WebDriver]:
    yield from opened(driver, pages / "large.html")


def opened(driver: WebDriver, page: Path) -> Iterator[WebDriver]:
    browsers.requests(driver)
    browsers.opened(driver, page)
    yield driver
    assert browsers.console(driver) == []
    asked = browsers.requests(driver)
    assert [url for url in asked if url not in (page.as_uri(), "data:,")] == []


def found(driver: WebDriver, selector: str) -> list[WebElement]:
    return driver.find_elements("css selector", selector)


def texts(driver: WebDriver, selector: str) -> list[str]:
    return [each.text for each in found(driver, selector)]


def pieces(driver: WebDriver, node: str) -> list[str]:
    """Looks of the pods on a node's bar, without what is only for a search or a wave."""
    script = """
      const row = [...document.querySelectorAll(".node")].find(
        (each) => each.querySelector(".name").textContent === arguments[0]);
      return [...row.querySelectorAll(".piece")].map((each) => each.className.split(" ")[1]);"""
    looks: list[str] = driver.execute_script(script, node)
    return looks


def slide(driver: WebDriver, *keys: str) -> None:
    found(driver, "#wave")[0].send_keys(*keys)


def test_the_verdict_stands_on_top_and_the_map_has_every_node(planned: WebDriver) -> None:
    assert texts(planned, "h1")[0].startswith("Place 13 pods of 4 jobs, evict 1 pod, move 1 pod")
    assert texts(planned, "p.good")[0].startswith("OPTIMAL")
    assert texts(planned, ".node .name") == [f"gpu-{i:02}" for i in range(1, 13)]


def test_the_slider_goes_from_before_to_after_wave_by_wave(planned: WebDriver) -> None:
    assert [look[:-1] for look in pieces(planned, "gpu-10")] == ["bound"]
    slide(planned, Keys.HOME)
    assert texts(planned, "output") == ["Before the plan"]
    assert pieces(planned, "gpu-10") == ["evicted"]
    assert pieces(planned, "gpu-06") == ["moved"]
    assert pieces(planned, "gpu-05") == []
    seen = []
    for _ in range(5):
        slide(planned, Keys.ARROW_RIGHT)
        seen += texts(planned, "output")
    assert [words.partition(". Wave")[0] for words in seen] == [
        *(f"After {i} of 5 waves" for i in range(1, 5)),
        "After the plan",
    ]
    assert pieces(planned, "gpu-06") != ["moved"]


def test_a_job_that_is_looked_for_stands_out_and_is_told(planned: WebDriver) -> None:
    seek = found(planned, "#seek")[0]
    seek.send_keys("llm-next")
    assert texts(planned, ".found-words") == ["1 job with 3 pods on 3 nodes"]
    assert texts(planned, ".node.found .name") == ["gpu-10", "gpu-11", "gpu-12"]
    assert len(found(planned, ".piece:not(.off)")) == 3
    assert "research/llm-next" in texts(planned, ".panel")[0]
    seek.clear()
    seek.send_keys("research/elastic")
    assert "2 of 4 pods wait: capacity" in texts(planned, ".panel")[0]


def test_a_job_under_the_pointer_is_lit_on_all_its_nodes(planned: WebDriver) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    bound = found(planned, "[data-node='10'] .piece")[0]
    ActionChains(planned).move_to_element(bound).perform()
    assert len(found(planned, ".piece.hover")) == 3
    assert "research/llm-next/worker x1: 8 GPUs" in texts(planned, ".hint")[0]


def test_names_of_jobs_in_tables_find_them_and_the_list_of_actions_filters(
    planned: WebDriver,
) -> None:
    assert len(found(planned, "input[aria-label^='Filter ACTIONS']")) == 1
    found(planned, "input[aria-label^='Filter ACTIONS']")[0].send_keys("evict gpu-10")
    table = "section:has(input[aria-label^='Filter ACTIONS']) tbody tr"
    assert len(found(planned, table)) == 1
    found(planned, f"{table} .job")[0].click()
    assert found(planned, "#seek")[0].get_property("value") == "batch/backfill"


def test_it_can_be_used_by_keyboard_alone(planned: WebDriver) -> None:
    body = found(planned, "body")[0]
    body.send_keys("/")
    planned.switch_to.active_element.send_keys("gpu-07", Keys.ENTER)
    assert planned.switch_to.active_element.get_dom_attribute("data-node") == "6"
    planned.switch_to.active_element.send_keys("[")
    assert texts(planned, "output")[0].startswith("After 4 of 5 waves")
    planned.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert texts(planned, ".found-words") == [""]


def test_it_is_light_or_dark_as_wanted(planned: WebDriver) -> None:
    def ground() -> str:
        return str(planned.execute_script("return getComputedStyle(document.body).backgroundColor"))

    before = ground()
    found(planned, "#theme")[0].click()
    assert ground() != before
    found(planned, "#theme")[0].click()
    assert ground() == before


def test_many_nodes_are_tiles_that_open(large: WebDriver) -> None:
    tiles = found(large, ".tile")
    assert len(tiles) == 19
    assert not found(large, ".node")
    names = [tile.get_attribute("aria-label") or "" for tile in tiles]
    assert names[0].startswith("leaf-0000 ")
    tiles[2].click()
    assert texts(large, ".node .name") == [f"node-{i:03}" for i in range(64, 96)]
    assert "cordoned" in texts(large, "[data-node='68']")[0]
    found(large, "nav button")[0].click()
    assert len(found(large, ".tile")) == 19


def test_states_are_found_by_a_click_on_the_legend(large: WebDriver) -> None:
    (pick,) = [each for each in found(large, ".pick") if each.text.startswith("not ready")]
    pick.click()
    assert texts(large, ".found-words") == ["7 nodes of that name, kind or state"]
    assert len(found(large, ".tile.found")) == 7


def test_nothing_that_a_document_holds_runs_or_is_markup(driver: WebDriver, pages: Path) -> None:
    for _ in opened(driver, pages / "hostile.html"):
        assert not found(driver, "img, iframe, body > script[src]")
        shown = texts(driver, ".node .name")
        assert shown[1] == HOSTILE[1]
        assert shown[3] == "\\u202egpj.exe"
        found(driver, "#seek")[0].send_keys("img src=x")
        assert not found(driver, "img")
        found(driver, ".node")[0].click()
        assert HOSTILE[0] in texts(driver, ".panel")[0]


def test_a_certificate_has_its_bounds_what_it_assumes_and_the_better_plan(
    driver: WebDriver, pages: Path
) -> None:
    for _ in opened(driver, pages / "certified.html"):
        assert texts(driver, "h1")[0].startswith("BETTER PLAN FOUND")
        headings = texts(driver, "h2")
        assert headings[:3] == [
            "OBJECTIVES, most important first",
            "MAP of the better plan",
            "ASSUMED",
        ]
        assert {"VALUE", "BOUND", "BETTER"} < set(texts(driver, "th"))
        slide(driver, Keys.HOME)
        assert "evicted" in pieces(driver, "gpu-10")


def test_an_explanation_opens_on_its_job(driver: WebDriver, pages: Path) -> None:
    for _ in opened(driver, pages / "explained.html"):
        assert texts(driver, "h1")[0].startswith("FITS ")
        assert found(driver, "#seek")[0].get_property("value") == "research/vision"
        assert texts(driver, ".found-words") == ["1 job with 2 pods on 2 nodes"]
        assert len(found(driver, ".node.found")) == 2


def test_a_simulation_has_its_tables_and_drawings(driver: WebDriver, pages: Path) -> None:
    for _ in opened(driver, pages / "simulated.html"):
        assert len(found(driver, "figure svg")) == 3
        assert "FRAGMENTATION (GFR)" in texts(driver, "h2")
        assert not found(driver, "#map")


@pytest.mark.parametrize("name", ["planned", "large", "certified", "explained", "simulated"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault(driver: WebDriver, pages: Path, name: str, theme: str) -> None:
    browsers.opened(driver, pages / f"{name}.html")
    driver.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
    assert browsers.faults(driver) == []
