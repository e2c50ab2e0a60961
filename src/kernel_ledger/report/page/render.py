"""Renders the page from its templates, and keeps it below its size.

A page that would be larger than LIMIT_BYTES carries its cases' details packed (zlib, base64); its script
unpacks them as soon as it is opened.  Only where that is too large as well are details left out, with a word.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..numbers import duration, ratio
from . import headline, kernels, verdict
from .claims import claims
from .machine import machine
from .read import Run, read_run
from .section import Section, section

TEMPLATES = Path(__file__).parent / "templates"
LIMIT_BYTES = 5_000_000
PLAIN, PACKED, LEFT_OUT = "plain", "packed", "left out"


def page(folder: Path, captures: Path) -> str:
    """report.html of a run folder whose evidence lies in ``captures``.  Raises EvidenceError without a table."""
    run = read_run(folder, captures)
    versions = machine(run)
    sections = [
        section(folder, number, case, run.verdict["device"]) for number, case in enumerate(run.cases, 1)
    ]
    templates = environment()
    body = templates.get_template("details.html")
    details = [stripped(body.render(section=s, kernel_header=kernels.HEADER)) for s in sections]
    for form in (PLAIN, PACKED, LEFT_OUT):
        bodies = [in_form(form, text) for text in details]
        text = stripped(whole(templates, run, versions, sections, bodies, form))
        if len(text.encode()) < LIMIT_BYTES:
            break
    return text


def environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"duration": duration, "ratio": ratio}
    return found


def whole(
    templates: Environment, run: Run, versions: list, sections: list[Section], bodies: list[Markup], form: str
) -> str:
    """The page around the details of its cases."""
    style, script = (
        Markup(stripped((TEMPLATES / name).read_text("utf-8"))) for name in ("page.css", "page.js")
    )
    numbers = {(s.case.workload, s.case.case): s.number for s in sections}
    return templates.get_template("page.html").render(
        run=run,
        style=style,
        script=script,
        style_hash=integrity(style),
        script_hash=integrity(script),
        machine=versions,
        checks=verdict.checks(run),
        sentence=verdict.sentence(run),
        unbalanced=verdict.unbalanced(run, numbers),
        claims=claims(run.folder),
        sections=sections,
        bodies=bodies,
        form=form,
        overview=[headline.overview_line(s.case) for s in sections],
    )


def in_form(form: str, text: str) -> Markup:
    """A case's details as the page carries them: rendered text is safe, for it was escaped when it was made."""
    if form == PACKED:
        return Markup(base64.b64encode(zlib.compress(text.encode(), 9)).decode())
    return Markup(text if form == PLAIN else "")


def stripped(text: str) -> str:
    """Without the templates' indentation and empty lines."""
    return "\n".join(line for line in (part.strip() for part in text.split("\n")) if line)


def integrity(text: str) -> str:
    """The hash by which the page's Content-Security-Policy allows this text and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
