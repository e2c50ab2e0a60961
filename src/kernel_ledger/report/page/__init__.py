"""report.html: one self-contained page of a run, for reading, sorting and printing.

Inputs: results.csv, verdict.json and (where they exist) claims.csv and fusion.csv of the run folder, and of
its captures plan.json, timing.json, numerics.json, key_averages.csv, run.json and both books.  The page needs
no network, no library, and no JavaScript except for sorting and filtering.

The figures are tables with SVG in their last column, made here and not by Vega-Altair in the browser.  Size: they
cost a few kB each, where Vega's library alone is 0.8 MB of the page's 5.  Print: they are on paper as on screen, and
follow dark mode and a narrow window.  No script: they are there with scripts forbidden, for a screen reader too, and
the page's policy admits no foreign code.  Determinism: equal input gives equal bytes.
"""

from .render import LIMIT_BYTES, page

__all__ = ["LIMIT_BYTES", "page"]
