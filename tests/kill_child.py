"""Stands in for the measured process in the kill tests: no torch, the same files, written slowly in halves.

``python kill_child.py <request.json>``.  Every file holds the request's seed, so that a mixture of two runs shows.
"""

import gzip
import json
import os
import sys
import time
from pathlib import Path

from kernel_ledger import lifeline
from kernel_ledger.request import announcements
from kernel_ledger.workload import source_hash

PAUSE_S = float(os.environ.get("KERNEL_LEDGER_TEST_PAUSE", "0.15"))
FILES = {
    "numerics": ["numerics.json", "dataflow.json"],
    "timing": ["timing.json"],
    "torch": ["trace.json.gz", "key_averages.txt", "key_averages.csv"],
    "nsys": [],
}


def main():
    unwatched = lifeline.watch(os.environ)
    assert unwatched is None, unwatched
    request = json.loads(Path(sys.argv[1]).read_text())
    output = Path(request["output"])
    print("measuring", file=sys.stderr, flush=True)
    if request["pass"] == "nsys":
        announce(request)
    files = FILES[request["pass"]]
    for name in files:
        text = json.dumps(
            {"format": 1, "seed": request["seed"], "variants": {v: {} for v in request["variants"]}}
        )
        data = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
        with (output / name).open("wb") as stream:
            stream.write(data[: len(data) // 2])
            stream.flush()
            time.sleep(PAUSE_S / max(1, len(files)))
            stream.write(data[len(data) // 2 :])
    child = {
        "format": 1,
        "request": request,
        "versions": {},
        "gpu": None,
        "tf32": False,
        "workload_sha256": source_hash(Path(request["workload_file"])),
        "probe": {},
        "announced": announcements(request),
        "output_sha256": {},
        "output_norms": {},
        "expectations": {},
        "warnings": [],
        "files": files,
    }
    (output / "child.json").write_text(json.dumps(child))


def announce(request):
    import nvtx

    for name, count in announcements(request).items():
        for _ in range(count):
            with nvtx.annotate(name, domain="kernel_ledger"):
                time.sleep(PAUSE_S / 10)


if __name__ == "__main__":
    main()
