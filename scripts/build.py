"""Rule build: csrc/ -> build/<device>/kernels.so and build.json."""

import argparse
from pathlib import Path

from kernel_ledger import entry
from kernel_ledger.extension import build_guarded


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["cuda", "cpu"], required=True)
    parser.add_argument("--architectures", default="", help='such as "9.0 8.0"; empty: the GPUs present')
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    return build_guarded(args.device, args.architectures.split(), args.output)


entry.run(main)
