"""What kind of work a kernel is, by its operator and its name: what fusing may touch, and what it had better not."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

LIBRARY_OPERATORS = re.compile(
    r"aten::(_?addmm|mm|bmm|baddbmm|addbmm|addmv|mv|dot|linear|matmul|_scaled_mm|_addmm_activation|convolution\w*|_convolution\w*"
    r"|conv\d\w*|cudnn_\w+|miopen_\w+|_cudnn_\w+|\w*attention\w*|_fft\w*|\w*sort|topk|_thnn_\w*lstm\w*|_trilinear|cublas\w*)"
)
LIBRARY_KERNELS = re.compile(
    r"gemm|gemv|cutlass|xmma|cudnn|cublas|nvjet|splitk|flash|fmha|implicit_convolve|winograd|fft|radixsort",
    re.IGNORECASE,
)
POINTWISE_KERNELS = re.compile(r"elementwise_kernel|multi_tensor_apply_kernel")
REDUCTION_KERNELS = re.compile(
    r"reduce_kernel|softmax|layer_?norm|rms_?norm|batch_?norm|group_?norm|RowwiseMoments|GammaBeta",
    re.IGNORECASE,
)
TRITON = re.compile(r"^triton_")


def kind(operator: str, kernels: Sequence[str], copies: bool, pointwise: bool, apart: Collection[str]) -> str:
    """``copies``: some operation is no kernel; ``pointwise``: the operator is tagged so; ``apart``: the plan's not_chain."""
    if (
        operator in apart
        or LIBRARY_OPERATORS.fullmatch(operator)
        or any(map(LIBRARY_KERNELS.search, kernels))
    ):
        return "library"
    if copies:
        return "copy"
    if pointwise or (kernels and all(map(POINTWISE_KERNELS.search, kernels))):
        return "pointwise"
    if kernels and all(REDUCTION_KERNELS.search(k) or POINTWISE_KERNELS.search(k) for k in kernels):
        return "reduction"
    if any(map(TRITON.match, kernels)) or not operator.startswith("aten::"):
        return "own"  # also what was launched outside every operator, as from Python
    return "unknown"
