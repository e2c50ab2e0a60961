// tanh-GELU for one element as the gelu operator computes it, shared by its CUDA kernels and its CPU implementation.
#pragma once

#include <cmath>

#include "chain.h"

namespace kernel_ledger {

// 0.5 x (1 + tanh(u)) = x / (1 + exp(-2u)) with u = sqrt(2/pi) (x + 0.044715 x^3): one exponential and one quotient,
// 11 instructions of sm_90 an element where tanhf takes 22, and no cancellation in 1 + tanh(u) for negative u.
// (The fused chain keeps tanhf, since it is compared with eager PyTorch step by step.)
KERNEL_LEDGER_BOTH float gelu_logistic(float x) {
  constexpr float kMinusTwoSqrtTwoOverPiLog2E = -2.302208198f;  // folds exp's change of base into u's factor
  constexpr float kCubic = 0.044715f;                           // Hendrycks & Gimpel 2016, arXiv:1606.08415
  const float power = exp2f(kMinusTwoSqrtTwoOverPiLog2E * (x + kCubic * (x * x * x)));
#ifdef __CUDA_ARCH__
  return __fdividef(x, 1.0f + power);  // 2 ulp; 0 for a divisor over 2^126, where the quotient is below 2e-37
#else
  return x / (1.0f + power);
#endif
}

}  // namespace kernel_ledger
