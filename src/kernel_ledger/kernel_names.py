"""What the names of library GEMM kernels tell: the tile of the output, its depth, the stages, the cluster.

The names are the libraries' own and not documented; where a number is not there, nothing is said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .names import base_name


@dataclass(frozen=True)
class Spelling:
    """``tile``: rows x columns of the output that a block computes; ``depth``: of the inner dimension, a step;
    ``stages``: steps in flight; ``cluster``: blocks of a cluster."""

    tile: tuple[int, int] | None = None
    depth: int | None = None
    stages: int | None = None
    cluster: tuple[int, ...] | None = None


# sm80_xmma_gemm_…_tilesize128x128x8_stage3_…, sm90_xmma_gemm_…_tilesize128x128x64_warpgroupsize…
XMMA = re.compile(r"_tilesize(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)(?:_stage(?P<stages>\d+))?")
# nvjet_tst_192x192_64x4_1x2_h_bz_coopA_TNT, nvjet_sm90_hsh_128x256_64x4_…
NVJET = re.compile(
    r"\bnvjet_[a-z0-9_]*?_(?P<m>\d+)x(?P<n>\d+)_(?P<k>\d+)x(?P<stages>\d+)_(?P<cluster>\d+x\d+)_"
)
# cutlass3x_sm90_tensorop_gemm_bf16_…_128x256x64_2x1x1_0_tnn_align8_…: 0 stages are "as many as fit"
CUTLASS3 = re.compile(
    r"cutlass3x_\w*?_(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)_(?P<cluster>\d+x\d+x\d+)_(?P<stages>\d+)_"
)
# cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4
CUTLASS2 = re.compile(r"cutlass_\d+_\w*?_(?P<m>\d+)x(?P<n>\d+)_(?P<k>\d+)x(?P<stages>\d+)_")
# ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn, ampere_sgemm_128x64_nn
NAMED = re.compile(r"gemm_\w*?(?P<m>\d+)x(?P<n>\d+)_(?:\w*?stages_(?P<k>\d+)x(?P<stages>\d+)_)?")
PATTERNS = (XMMA, NVJET, CUTLASS3, CUTLASS2, NAMED)


def library_name(name: str) -> str:
    """A kernel's own name; of a CUTLASS kernel, which is a template, the name of its configuration."""
    match = re.search(r"\bcutlass\w*_(?:sm)?\d+_\w+", name)
    return match[0] if match else base_name(name)


def spelling(name: str) -> Spelling:
    """What a kernel's name says of its tiles; all None for a name that says nothing."""
    for pattern in PATTERNS:
        if match := pattern.search(name):
            found = match.groupdict()
            cluster = found.get("cluster")
            return Spelling(
                tile=(int(found["m"]), int(found["n"])),
                depth=int(found["k"]) if found["k"] else None,
                stages=int(found["stages"] or 0) or None,
                cluster=tuple(map(int, cluster.split("x"))) if cluster else None,
            )
    return Spelling()
