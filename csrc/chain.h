// The fused chain for one element, shared by the CUDA kernels and the CPU implementation:
//   clamp(gelu_tanh(x * gamma + beta) + residual, low, high)
#pragma once

#include <cmath>

#ifdef __CUDACC__
#define KERNEL_LEDGER_BOTH __host__ __device__ __forceinline__
#else
#define KERNEL_LEDGER_BOTH inline
#endif

namespace kernel_ledger {

struct ChainConstants {
  float gamma, beta, low, high;
};

// Eager PyTorch rounds to float32 after each of its kernels. A multiply-add fused across that boundary would
// round once where eager rounds twice. (The host compiler is told -ffp-contract=off.)
KERNEL_LEDGER_BOTH float scale_and_bias(float x, const ChainConstants& constants) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(__fmul_rn(x, constants.gamma), constants.beta);
#else
  return x * constants.gamma + constants.beta;
#endif
}

KERNEL_LEDGER_BOTH float gelu_tanh(float x) {
  constexpr float kSqrtTwoOverPi = 0.7978845608028654f;
  constexpr float kCubic = 0.044715f;  // Hendrycks & Gimpel 2016, arXiv:1606.08415
  const float inner = kSqrtTwoOverPi * (x + kCubic * (x * x * x));
  return 0.5f * x * (1.0f + tanhf(inner));
}

// NaN passes through, since every comparison with it is false; as torch.clamp, `high` wins where low > high.
KERNEL_LEDGER_BOTH float clamp(float value, float low, float high) {
  const float raised = value < low ? low : value;
  return raised > high ? high : raised;
}

KERNEL_LEDGER_BOTH float chain(float x, float residual, const ChainConstants& constants) {
  return clamp(gelu_tanh(scale_and_bias(x, constants)) + residual, constants.low, constants.high);
}

}  // namespace kernel_ledger
