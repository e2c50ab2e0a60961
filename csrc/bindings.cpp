// The operators of torch.ops.kernel_ledger: schemas and registration, nothing else. Without WITH_CUDA there is the CPU
// implementation alone; the schemas are the same.
#include <torch/library.h>

#include "operators.h"

namespace kernel_ledger {

TORCH_LIBRARY(kernel_ledger, m) {
  const std::vector<at::Tag> traceable{at::Tag::pt2_compliant_tag};
  m.def("fused_chain(Tensor x, Tensor residual, float gamma, float beta, float low, float high, "
        "bool vectorized=True) -> Tensor", traceable);
  m.def("gelu(Tensor x, bool vectorized=True) -> Tensor", traceable);
  m.def("spin(Tensor like, int nanoseconds, int blocks, int threads) -> ()");
  m.def("touch(Tensor(a!) buffer, int blocks, int threads) -> ()");
  m.def("tick(Tensor(a!) counter, int launches) -> ()");
  m.def("peak_bandwidth(Tensor like) -> int");
}

TORCH_LIBRARY_IMPL(kernel_ledger, Meta, m) {
  m.impl("fused_chain", fused_chain_meta);
  m.impl("gelu", gelu_meta);
}

TORCH_LIBRARY_IMPL(kernel_ledger, CPU, m) {
  m.impl("fused_chain", fused_chain_cpu);
  m.impl("gelu", gelu_cpu);
}

#ifdef WITH_CUDA
TORCH_LIBRARY_IMPL(kernel_ledger, CUDA, m) {
  m.impl("fused_chain", fused_chain_cuda);
  m.impl("gelu", gelu_cuda);
  m.impl("spin", spin_cuda);
  m.impl("touch", touch_cuda);
  m.impl("tick", tick_cuda);
  m.impl("peak_bandwidth", peak_bandwidth_cuda);
}
#endif

}  // namespace kernel_ledger
