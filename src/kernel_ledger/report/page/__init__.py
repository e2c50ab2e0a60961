"""report.html: one self-contained page of a run, for reading, sorting and printing.

Inputs: results.csv, verdict.json and (where they exist) claims.csv and fusion.csv of the run folder, and of
its captures plan.json, timing.json, numerics.json, key_averages.csv, run.json and both books.  The page needs
no network, no library, and no JavaScript except for sorting and filtering.

The figures are tables with SVG in their last column, made here and not by a charting library in the browser:
they print, follow dark mode and a narrow window, can be read by a screen reader and with scripts forbidden,
cost a few kB each (Vega alone is 0.8 MB), and equal input gives equal bytes.
"""

from .render import LIMIT_BYTES, page

__all__ = ["LIMIT_BYTES", "page"]
