"""A headless Chromium for tests of the page: no network, and what it asked for and complained of is kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip


def paths() -> tuple[str, str] | None:
    """Chromium and its driver (Debian: packages chromium and chromium-driver), or None."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


needs_browser = pytest.mark.skipif(
    paths() is None, reason="no chromium and chromedriver here: run .ci/install-browser"
)


@contextmanager
def chromium(profile: Path, width: int = 1280, height: int = 900, script: bool = True) -> Iterator:
    """A browser with a profile of its own, closed again at the end."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    browser, driver = paths()
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    if not script:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    window = webdriver.Chrome(options=options, service=Service(driver))
    try:
        resize(window, width, height)
        window.get("about:blank")
        requested(window)  # what Chromium asks of itself when it starts
        yield window
    finally:
        window.quit()


def resize(window, width: int, height: int) -> None:
    """The size of the page itself, also below the least width of a window."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def scheme(window, name: str) -> None:
    """``light`` or ``dark``, as the user's system would say."""
    features = [{"name": "prefers-color-scheme", "value": name}]
    window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def requested(window) -> list[str]:
    """Every address that the page asked for since the last call."""
    entries = (json.loads(entry["message"])["message"] for entry in window.get_log("performance"))
    return [e["params"]["request"]["url"] for e in entries if e["method"] == "Network.requestWillBeSent"]


def whole_page(window, path: Path) -> None:
    """A picture of the page from top to end."""
    import base64

    size = window.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
    shot = window.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    path.write_bytes(base64.b64decode(shot["data"]))
