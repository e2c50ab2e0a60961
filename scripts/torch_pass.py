"""Rule torch_pass: one variant under torch.profiler -> torch/<variant>/trace.json.gz, run.json and tables."""

from kernel_ledger import entry
from kernel_ledger.launch import launch
from kernel_ledger.pass_arguments import job


def main() -> None:
    launch(job("torch", __doc__))


entry.run(main)
