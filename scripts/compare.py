"""Rule compare: two runs -> comparison.md, .html, .csv, .json; exit status 0 no regression, 1 regression, 2 cannot judge."""

import argparse
import sys
import traceback
from pathlib import Path

CANNOT_JUDGE = 2


def main() -> int:
    from kernel_ledger.compare.comparison import compare, refusal
    from kernel_ledger.compare.files import write
    from kernel_ledger.compare.judgement import Margins
    from kernel_ledger.compare.run import read_run
    from kernel_ledger.compare.words import headline, verdict_sentence

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "base", type=Path, help="folder of the run that is known to be good, such as reports/a"
    )
    parser.add_argument("new", type=Path, help="folder of the run in question, such as reports/b")
    parser.add_argument("--output", type=Path, help="default: reports/compare-<base>-<new>")
    parser.add_argument(
        "--threshold-pct", type=float, help="what two runs of the same code may differ by (default: 2)"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="compare what may not be compared: marked everywhere, and never 0",
    )
    args = parser.parse_args()
    base, new = Path(args.base), Path(args.new)
    output = args.output or Path("reports") / f"compare-{base.resolve().name}-{new.resolve().name}"
    margins = Margins() if args.threshold_pct is None else Margins(threshold_pct=args.threshold_pct)
    comparison = compare(read_run(base), read_run(new), margins, force=args.force)
    write(comparison, output)
    if comparison.outcome == "refused":
        raise refusal(comparison)
    print(headline(comparison), verdict_sentence(comparison), sep="\n", flush=True)  # before any warning
    for line in comparison.warnings:
        print(f"warning: {line}", file=sys.stderr)
    print(f"Read {output / 'comparison.md'} or {output / 'comparison.html'}")
    return comparison.exit_status


def judged() -> int:
    """The exit status.  Python's own for an uncaught error is 1, which here would say that the code is slower."""
    try:
        from kernel_ledger.errors import LedgerError

        try:
            return main()
        except LedgerError as error:
            print(f"error: {error}", file=sys.stderr)
    except Exception:  # the outermost edge: nothing was judged, whatever it was
        traceback.print_exc()
    return CANNOT_JUDGE


sys.exit(judged())
