// tanh-GELU: 2 floats of traffic an element (x read, out written). The gelu workload compiles this file a second time,
// through torch.utils.cpp_extension.load_inline, so that it includes no torch header.
#include "checked.h"
#include "elementwise.h"
#include "gelu.h"
#include "launch.h"

namespace kernel_ledger {

extern "C" __global__ void __launch_bounds__(kThreads)
    gelu_vector(const float* __restrict__ x, float* __restrict__ out, int64_t count) {
  const int64_t vectors = count / kWidth;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
#pragma unroll 1  // nearly every thread runs it once; unrolled, it begins with a 64-bit division
  for (int64_t i = first; i < vectors; i += stride) {
    const float4 a = reinterpret_cast<const float4*>(x)[i];
    reinterpret_cast<float4*>(out)[i] =
        make_float4(gelu_logistic(a.x), gelu_logistic(a.y), gelu_logistic(a.z), gelu_logistic(a.w));
  }
  const int64_t rest = vectors * kWidth + first;  // the last count % 4 elements ride in this launch
  if (rest < count) out[rest] = gelu_logistic(x[rest]);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gelu_scalar(const float* __restrict__ x, float* __restrict__ out, int64_t count) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    out[i] = gelu_logistic(x[i]);
  }
}

void launch_gelu(const float* x, float* out, int64_t count, bool vectorized, cudaStream_t stream) {
  if (count == 0) return;
  if (vectorized && on_vector_boundary(x) && on_vector_boundary(out)) {
    gelu_vector<<<blocks_for((count + kWidth - 1) / kWidth), kThreads, 0, stream>>>(x, out, count);
  } else {
    gelu_scalar<<<blocks_for(count), kThreads, 0, stream>>>(x, out, count);
  }
  KERNEL_LEDGER_CHECKED(cudaGetLastError());
}

}  // namespace kernel_ledger
