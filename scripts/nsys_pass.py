"""Rule nsys_pass: all variants under nsys profile -> nsys/report.nsys-rep and run.json."""

from kernel_ledger import entry
from kernel_ledger.launch import launch
from kernel_ledger.pass_arguments import job


def main() -> None:
    launch(job("nsys", __doc__))


entry.run(main)
