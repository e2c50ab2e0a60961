"""`snakemake --report` of a replayed run, where no connection can be opened."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from zipfile import ZipFile

import pytest
from browser import chromium, needs_browser, requested
from workflow_copy import PARTS, ROOT

OFFLINE = """
import socket

def refuse(self, address, *rest):
    raise OSError(f"no network in this test: {address}")

socket.socket.connect = socket.socket.connect_ex = refuse
socket.getaddrinfo = refuse
"""
RESULTS = {
    "Results": {
        "both books, row by row (CSV)",
        "both books, row by row (Parquet)",
        "what the columns mean (JSON)",
        "the verdict and its checks (JSON)",
        "claims: held, refuted or not tested (CSV)",
    },
    "Summary": {"summary for a pull request (Markdown)", "the whole run on one page (HTML)"},
    "Timelines": {"linear_chain/rows65536_dim1024", "ruler/default"},
}


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A copy of the checkout with a replayed run, its report as HTML and as ZIP; what Snakemake printed."""
    folder = tmp_path_factory.mktemp("a report")
    for part in PARTS:
        source = ROOT / part
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / part)
    shutil.copytree(ROOT / "reports/h200-reference", folder / "reports/h200-reference")
    (folder / "hidden").mkdir()
    (folder / "hidden/sitecustomize.py").write_text(OFFLINE)
    printed = [
        snakemake(folder),
        snakemake(folder, "--report", "r.html"),
        snakemake(folder, "--report", "r.zip"),
    ]
    return folder, printed


def snakemake(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *options, "--config"]
    command += ["replay=reports/h200-reference", "run=again"]
    environment = os.environ | {"PYTHONPATH": str(folder / "hidden")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_all_results_are_in_the_report_and_none_is_of_an_unknown_kind(reported):
    _, (_, html, _) = reported
    for name in ("results.csv", "results.schema.json", "verdict.json", "claims.csv", "summary.md", "report.html",
                 "rows65536_dim1024.pftrace", "default.pftrace"):  # fmt: skip
        assert f"Adding {name} " in html
    assert "Could not detect" not in html and "Missing" not in html


def test_the_zip_holds_the_files_as_they_are(reported):
    folder, _ = reported
    with ZipFile(folder / "r.zip") as report:
        held = {Path(name).name: report.read(name) for name in report.namelist() if "/data/" in name}
    assert held["results.csv"] == (folder / "reports/again/results.csv").read_bytes()
    assert held["default.pftrace"] == (folder / "reports/again/timeline/ruler/default.pftrace").read_bytes()


def test_the_page_names_no_address_to_load_from(reported):
    folder, _ = reported
    text = (folder / "r.html").read_text()
    for opening in ('src="http', "src='http", '<link href="http', "@import url(http"):
        assert opening not in text
    assert 1_000_000 < len(text) < 10_000_000


def test_captions_and_categories_are_there(reported):
    folder, _ = reported
    text = (folder / "r.html").read_text()
    assert "the books must balance" in text and "replayed from" in text
    for category, labels in RESULTS.items():
        assert f'"{category}"' in text and all(label in text for label in labels)
    assert "Both books of ruler, case default" in text


@needs_browser
def test_each_category_opens_in_a_browser_without_an_error_or_a_request(reported, tmp_path):
    """Snakemake's page goes blank where a second label has two values, each of half of the results."""
    from selenium.webdriver.common.by import By

    folder, _ = reported
    with chromium(tmp_path / "profile") as window:
        for category, labels in RESULTS.items():
            window.get((folder / "r.html").as_uri())
            wait_for(window, category)
            window.find_elements(By.XPATH, f"//*[text()='{category}']")[-1].click()
            wait_for(window, min(labels))
            shown = window.find_element(By.TAG_NAME, "body").text
            assert all(label in shown for label in labels)
        assert not [entry for entry in window.get_log("browser") if entry["level"] == "SEVERE"]
        assert not [url for url in requested(window) if url.startswith(("http", "ws"))]


def wait_for(window, text: str) -> None:
    from selenium.webdriver.common.by import By

    end = time.monotonic() + 20
    while text not in window.find_element(By.TAG_NAME, "body").text:
        assert time.monotonic() < end, f"{text!r} never appears"
        time.sleep(0.1)
