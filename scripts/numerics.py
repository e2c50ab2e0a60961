"""Rule numerics: every variant against the first and against float64 -> numerics.json, dataflow.json."""

from kernel_ledger import entry
from kernel_ledger.launch import launch
from kernel_ledger.pass_arguments import job


def main() -> None:
    launch(job("numerics", __doc__))


entry.run(main)
