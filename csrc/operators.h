// What bindings.cpp registers and operators.cpp defines. The _cuda ones exist in a build WITH_CUDA.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kernel_ledger {

using at::Tensor;

// clamp(gelu_tanh(x * gamma + beta) + residual, low, high): two contiguous float32 tensors of one shape and device.
Tensor fused_chain_meta(const Tensor& x, const Tensor& residual, double gamma, double beta, double low, double high,
                        bool vectorized);
Tensor fused_chain_cpu(const Tensor& x, const Tensor& residual, double gamma, double beta, double low, double high,
                       bool vectorized);
Tensor fused_chain_cuda(const Tensor& x, const Tensor& residual, double gamma, double beta, double low, double high,
                        bool vectorized);

// tanh-GELU of one contiguous float32 tensor.
Tensor gelu_meta(const Tensor& x, bool vectorized);
Tensor gelu_cpu(const Tensor& x, bool vectorized);
Tensor gelu_cuda(const Tensor& x, bool vectorized);

// The ruler; see launch.h. `like` says which device.
void spin_cuda(const Tensor& like, int64_t nanoseconds, int64_t blocks, int64_t threads);
void touch_cuda(Tensor& buffer, int64_t blocks, int64_t threads);
void tick_cuda(Tensor& counter, int64_t launches);
int64_t peak_bandwidth_cuda(const Tensor& like);  // bytes/s, 0 where unknown

}  // namespace kernel_ledger
