"""report.html in a real browser: quiet, offline, sortable, filterable, readable at both widths, inert."""

from __future__ import annotations

import base64
import csv
import shutil
import subprocess
import time

import pytest
from browser import chromium, needs_browser, requested, resize, scheme, whole_page
from report_pages import HOSTILE, REFERENCE, copy_reference, make_hostile, many_cases, rewrite, write_page

pytestmark = needs_browser
KERNELS = "table.kernels"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    run = copy_reference(tmp_path_factory.mktemp("page") / "run")
    write_page(run)
    return (run / "report.html").as_uri()


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def page(window, address):
    """The page, freshly opened at the greater width."""
    resize(window, 1280, 900)
    window.get(address)
    return window


def rows(page, column: int, table: str = KERNELS) -> list[str]:
    """A column of the first such table, of the rows that are shown, from top to bottom."""
    script = """return [...document.querySelector(arguments[0]).tBodies[0].rows]
        .filter(row => row.offsetParent !== null).map(row => row.cells[arguments[1]])
        .map(cell => cell.dataset.v ?? cell.innerText)"""
    return page.execute_script(script, table, column)


def header(page, text: str):
    heads = page.find_elements("css selector", f"{KERNELS} th button")
    return next(head for head in heads if head.text.startswith(text))


def test_the_page_opens_without_a_complaint_and_asks_for_nothing_but_itself(page, address):
    assert requested(page)[-1:] == [address]
    page.get("about:blank")
    requested(page)
    page.get(address)
    assert requested(page) == [address]
    assert page.get_log("browser") == []


def test_a_click_on_a_header_sorts_by_numbers_and_a_third_one_restores(page):
    before = rows(page, 4)
    nsys = header(page, "nsys median")
    nsys.click()
    assert rows(page, 4) == sorted(before, key=float, reverse=True) != before
    assert nsys.find_element("xpath", "..").get_attribute("aria-sort") == "descending"
    nsys.click()
    assert rows(page, 4) == sorted(before, key=float)
    nsys.click()
    assert rows(page, 4) == before


def test_the_keyboard_sorts_too_and_empty_cells_come_last(page):
    from selenium.webdriver.common.keys import Keys

    header(page, "of copy").send_keys(Keys.ENTER)
    values = [value for value in rows(page, 7) if value != "–"]
    assert [float(v) for v in values] == sorted((float(v) for v in values), reverse=True)
    assert rows(page, 7)[-1] == "–" and values


def test_words_and_status_filter_the_kernels_and_the_count_is_said(page):
    from selenium.webdriver.support.select import Select

    form = page.find_element("xpath", "//form[label[contains(., 'the kernels')]]")
    field, output = form.find_element("css selector", "input"), form.find_element("css selector", "output")
    field.send_keys("gemm fused")
    assert len(rows(page, 0)) == 2 and set(rows(page, 0)) == {"fused", "fused_scalar"}
    assert output.text.startswith("2 of ")
    field.clear()
    field.send_keys("no such kernel")
    assert rows(page, 0) == []
    field.clear()
    field.send_keys(" ")
    status = Select(form.find_element("css selector", "select"))
    status.select_by_visible_text("disagree")
    assert rows(page, 0) == []
    status.select_by_visible_text("verified")
    assert len(rows(page, 0)) == 14


def test_a_kernels_whole_name_can_be_read(page):
    code = page.find_elements("css selector", f"{KERNELS} td.name code")[0]
    cut = "return arguments[0].scrollHeight > arguments[0].clientHeight + 1"
    assert page.execute_script(cut, code)
    page.find_element("css selector", ".open-all").click()
    assert not page.execute_script(cut, code) and code.text.endswith("std::array<char*, 3ul>)")


@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_nothing_is_wider_than_the_window_and_text_has_contrast(page, tmp_path, width, colours):
    resize(page, width, 900)
    scheme(page, colours)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    poor = page.execute_script(CONTRAST)
    assert poor == []
    whole_page(page, tmp_path / f"{width}-{colours}.png")
    assert (tmp_path / f"{width}-{colours}.png").stat().st_size > 50_000


# Boxes of tables whose content is wider than they are, with every part that can be opened open.
WIDE = """
document.querySelectorAll("details").forEach(part => { part.open = true; });
return [...document.querySelectorAll(".wide, .claims, .claims li, figure, dl.machine")]
  .filter(box => arguments[0] || !box.querySelector(".kernels"))
  .filter(box => box.scrollWidth > box.clientWidth)
  .map(box => `${box.getAttribute("aria-label") || box.className}: ${box.scrollWidth} > ${box.clientWidth}`);
"""
PAPER = 703  # CSS pixels between the margins of A4


@pytest.mark.parametrize("width", [1280, 420])
def test_no_table_but_the_kernels_is_wider_than_its_box(page, width):
    resize(page, width, 900)
    assert len(page.find_elements("css selector", ".wide")) > 8
    assert page.execute_script(WIDE, False) == []


def test_every_table_fits_on_paper(page):
    resize(page, PAPER, 900)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert page.execute_script(WIDE, True) == []
        assert page.execute_script("return document.documentElement.scrollWidth") <= PAPER
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="no pdftotext here (Debian: poppler-utils)")
def test_paper_has_the_outcome_and_reason_of_claims_and_what_fusing_would_gain(page, tmp_path):
    printed = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {})["data"])
    (tmp_path / "report.pdf").write_bytes(printed)
    done = subprocess.run(
        ["pdftotext", tmp_path / "report.pdf", "-"], capture_output=True, text=True, check=True
    )
    text = " ".join(done.stdout.split())
    assert "refuted" in text and "predicted" in text and "outside libraries" in text
    with (REFERENCE / "claims.csv").open(newline="") as stream:
        reasons = [part for row in csv.DictReader(stream) for part in row["reason"].split("; ") if part]
    bare = "".join(text.split())
    assert reasons and all("".join(reason.split()) in bare for reason in reasons)


# WCAG: 4.5 between text and the nearest background that is painted behind it.
CONTRAST = """
const channel = c => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
const numbers = text => text.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const behind = element => {
  for (let e = element; e; e = e.parentElement) {
    const colour = numbers(getComputedStyle(e).backgroundColor);
    if (colour.length === 3 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
const found = new Set();
for (const element of document.body.querySelectorAll("*:not(svg *):not(svg):not(script)")) {
  if (![...element.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || element.offsetParent === null) continue;
  const [a, b] = [light(numbers(getComputedStyle(element).color)), light(behind(element))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) found.add(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
}
return [...found];
"""


def test_hostile_names_run_nothing(window, tmp_path):
    run = make_hostile(copy_reference(tmp_path / "run"))
    write_page(run)
    window.get((run / "report.html").as_uri())
    time.sleep(0.5)
    assert window.execute_script("return window.pwned === undefined && document.images.length === 0")
    assert window.get_log("browser") == []
    assert "✗ refuted" in window.find_element("css selector", "h1").text


def test_a_hundred_cases_unpack_themselves_can_be_filtered_and_run_nothing(window, tmp_path):
    run = many_cases(tmp_path / "run", 100)
    rewrite(run, lambda row: row.update(name=row["name"] + HOSTILE) if row["level"] == "kernel" else None)
    write_page(run)
    started = time.monotonic()
    window.get((run / "report.html").as_uri())
    while not window.execute_script("return document.documentElement.dataset.ready"):
        assert time.monotonic() - started < 60
        time.sleep(0.2)
    assert len(window.find_elements("css selector", ".packed figure")) == 600
    assert window.execute_script("return window.pwned === undefined && document.images.length === 0")
    assert window.get_log("browser") == []
    window.find_element("css selector", "section[aria-labelledby=overview] input").send_keys("rows77")
    assert rows(window, 0, "section[aria-labelledby=overview] table") == ["linear_chain · rows77"]
    figure = window.find_element("css selector", "#case-100 figure.split")
    assert "The chain is 20.1% of eager's GPU time" in figure.get_attribute("textContent")


def test_without_scripts_everything_but_sorting_is_there(address, tmp_path):
    with chromium(tmp_path / "profile", script=False) as window:
        window.get(address)
        assert not window.find_element("css selector", "form.filter").is_displayed()
        assert "fused_chain_vector" in window.find_element("css selector", KERNELS).text
        assert len(window.find_elements("css selector", "figure")) > 6


def test_the_page_prints_on_paper_with_each_case_on_a_page_of_its_own(page, tmp_path):
    printed = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert printed.startswith(b"%PDF") and printed.count(b"/Type /Page\n") >= 5
    (tmp_path / "report.pdf").write_bytes(printed)
