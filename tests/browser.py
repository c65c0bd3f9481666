"""Pages in a real browser: Chromium without a window, driven by Selenium."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.remote.webdriver import WebDriver

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
AXE = Path(os.environ.get("KANTOPT_AXE") or str(files("axe_core_python") / "axe.min.js"))
"""File of axe-core, which looks for faults of accessibility: another one than the package's, or
that."""


def missing() -> str:
    """What is not there that a browser needs; nothing: empty."""
    return ", ".join(name for name in ("chromium", "chromedriver") if not shutil.which(name))


@contextmanager
def browser(width: int = 1400, height: int = 1000) -> Iterator[WebDriver]:
    """Start a browser with a profile of its own, and end it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for flag in (*_FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = Service(shutil.which("chromedriver"))
        driver = webdriver.Chrome(options=options, service=service)
        try:
            yield driver
        finally:
            driver.quit()


def opened(driver: WebDriver, path: Path) -> float:
    """Open a page and return the seconds from the start of loading until it can be used."""
    driver.get(path.resolve().as_uri())
    ready = driver.execute_script("return document.documentElement.dataset.ready")
    assert ready is not None, driver.get_log("browser")
    return float(ready) / 1000


def console(driver: WebDriver) -> list[str]:
    """What the browser's console says since it was last asked."""
    return [entry["message"] for entry in driver.get_log("browser")]


def requests(driver: WebDriver) -> list[str]:
    """Addresses that the browser has asked for since it was last asked."""
    events = (json.loads(entry["message"])["message"] for entry in driver.get_log("performance"))
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]


def faults(driver: WebDriver) -> list[str]:
    """Serious and critical faults that axe-core finds in the open page; it is at ``AXE``."""
    driver.set_script_timeout(300)  # a page of 10,000 nodes, on a busy machine
    driver.execute_script(AXE.read_text(encoding="utf-8"))
    found: dict[str, Any] = driver.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "axe.run(document, {resultTypes: ['violations']}).then(done);"
    )
    return [
        f"{each['id']}: {len(each['nodes'])} times, as at {each['nodes'][0]['target'][0]}: "
        f"{each['nodes'][0]['failureSummary']}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


def picture_of_page(driver: WebDriver, path: Path, height: int = 1000) -> None:
    """Write what is seen as PNG."""
    width = int(driver.get_window_size()["width"])
    driver.set_window_size(width, height)
    driver.save_screenshot(str(path))
