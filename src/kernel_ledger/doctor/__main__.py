"""``python -m kernel_ledger.doctor``: what `make doctor` prints."""

import os
import sys

from . import conclusion, diagnose, report

found = diagnose(os.environ)
text, status = conclusion(found)
print(f"{report(found)}\n{text}")
sys.exit(status)
