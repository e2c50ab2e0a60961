"""Rule timing: all variants in alternating rounds, no profiler in the process -> timing.json, run.json."""

from kernel_ledger import entry
from kernel_ledger.launch import launch
from kernel_ledger.pass_arguments import job


def main() -> None:
    launch(job("timing", __doc__))


entry.run(main)
