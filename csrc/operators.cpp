// The operators on tensors: they check their operands, allocate the output, and launch on the current stream of the
// operands' device. No registration and no kernel is here; each of those headers is the slowest thing of its file.
#include "operators.h"

#include <ATen/Parallel.h>

#include "chain.h"
#include "gelu.h"

#ifdef WITH_CUDA
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "launch.h"
#endif

namespace kernel_ledger {
namespace {

using at::Tensor;

// A copy of a non-contiguous input would be a second kernel launch that no one announced, so it is refused.
void check_operand(const Tensor& tensor, const char* op, const char* name) {
  TORCH_CHECK(tensor.layout() == at::kStrided, op, ": ", name, " must be a dense tensor, not ", tensor.layout());
  TORCH_CHECK(tensor.is_contiguous(), op, ": ", name, " is not contiguous (shape ", tensor.sym_sizes(), ", strides ",
              tensor.sym_strides(), "); pass ", name, ".contiguous(): this operator launches one kernel and makes no copy");
}

Tensor gelu_output(const Tensor& x) {
  constexpr const char* op = "kernel_ledger::gelu";
  TORCH_CHECK(x.scalar_type() == at::kFloat, op, ": x must be float32, not ", x.scalar_type());
  check_operand(x, op, "x");
  return x.new_empty_symint(x.sym_sizes());
}

Tensor checked_output(const Tensor& x, const Tensor& residual) {
  constexpr const char* op = "kernel_ledger::fused_chain";
  TORCH_CHECK(x.scalar_type() == at::kFloat, op, ": x must be float32, not ", x.scalar_type());
  TORCH_CHECK(residual.scalar_type() == at::kFloat, op, ": residual must be float32, not ", residual.scalar_type());
  TORCH_CHECK(x.device() == residual.device(), op, ": x is on ", x.device(), " and residual on ", residual.device());
  TORCH_CHECK(x.sym_sizes() == residual.sym_sizes(), op, ": x has the shape ", x.sym_sizes(), " and residual ",
              residual.sym_sizes(), "; there is no broadcasting");
  check_operand(x, op, "x");
  check_operand(residual, op, "residual");
  return x.new_empty_symint(x.sym_sizes());
}

ChainConstants constants_of(double gamma, double beta, double low, double high) {
  return {static_cast<float>(gamma), static_cast<float>(beta), static_cast<float>(low), static_cast<float>(high)};
}

constexpr int64_t kGrain = 1 << 14;  // elements a thread of the CPU is worth starting for

constexpr int64_t kLongestSpin = 10'000'000'000;  // ns: a larger number is a mistake, and it would block the GPU

void check_grid(const char* op, int64_t blocks, int64_t threads) {
  TORCH_CHECK(blocks >= 1 && blocks <= INT32_MAX, op, ": blocks must be 1 to 2^31 - 1, not ", blocks);
  TORCH_CHECK(threads >= 1 && threads <= 1024, op, ": threads must be 1 to 1024, not ", threads);
}

}  // namespace

Tensor fused_chain_meta(const Tensor& x, const Tensor& residual, double, double, double, double, bool) {
  return checked_output(x, residual);
}

Tensor fused_chain_cpu(const Tensor& x, const Tensor& residual, double gamma, double beta, double low, double high,
                       bool /* vectorized: only the CUDA implementation has two kernels */) {
  const Tensor out = checked_output(x, residual);
  const ChainConstants constants = constants_of(gamma, beta, low, high);
  const float* from = x.const_data_ptr<float>();
  const float* other = residual.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  at::parallel_for(0, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = chain(from[i], other[i], constants);
  });
  return out;
}

Tensor gelu_meta(const Tensor& x, bool) { return gelu_output(x); }

Tensor gelu_cpu(const Tensor& x, bool /* vectorized, as above */) {
  const Tensor out = gelu_output(x);
  const float* from = x.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  at::parallel_for(0, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = gelu_logistic(from[i]);
  });
  return out;
}

#ifdef WITH_CUDA
Tensor gelu_cuda(const Tensor& x, bool vectorized) {
  const Tensor out = gelu_output(x);
  const c10::cuda::CUDAGuard guard(x.device());
  launch_gelu(x.const_data_ptr<float>(), out.mutable_data_ptr<float>(), x.numel(), vectorized,
              c10::cuda::getCurrentCUDAStream());
  return out;
}

Tensor fused_chain_cuda(const Tensor& x, const Tensor& residual, double gamma, double beta, double low, double high,
                        bool vectorized) {
  const Tensor out = checked_output(x, residual);
  const c10::cuda::CUDAGuard guard(x.device());
  launch_fused_chain(x.const_data_ptr<float>(), residual.const_data_ptr<float>(), out.mutable_data_ptr<float>(),
                     x.numel(), constants_of(gamma, beta, low, high), vectorized, c10::cuda::getCurrentCUDAStream());
  return out;
}

void spin_cuda(const Tensor& like, int64_t nanoseconds, int64_t blocks, int64_t threads) {
  constexpr const char* op = "kernel_ledger::spin";
  check_grid(op, blocks, threads);
  TORCH_CHECK(nanoseconds >= 0 && nanoseconds <= kLongestSpin, op, ": nanoseconds must be 0 to ", kLongestSpin,
              ", not ", nanoseconds);
  const c10::cuda::CUDAGuard guard(like.device());
  launch_spin(nanoseconds, static_cast<int>(blocks), static_cast<int>(threads), c10::cuda::getCurrentCUDAStream());
}

void touch_cuda(Tensor& buffer, int64_t blocks, int64_t threads) {
  constexpr const char* op = "kernel_ledger::touch";
  check_grid(op, blocks, threads);
  check_operand(buffer, op, "buffer");
  void* data = buffer.mutable_data_ptr();
  TORCH_CHECK(reinterpret_cast<uintptr_t>(data) % 16 == 0, op, ": buffer must begin on a 16-byte boundary");
  const c10::cuda::CUDAGuard guard(buffer.device());
  launch_touch(data, static_cast<int64_t>(buffer.nbytes()), static_cast<int>(blocks), static_cast<int>(threads),
               c10::cuda::getCurrentCUDAStream());
}

void tick_cuda(Tensor& counter, int64_t launches) {
  constexpr const char* op = "kernel_ledger::tick";
  TORCH_CHECK(counter.scalar_type() == at::kInt && counter.numel() == 1, op, ": counter must be one int32");
  TORCH_CHECK(launches >= 0 && launches <= INT32_MAX, op, ": launches must be 0 to 2^31 - 1, not ", launches);
  const c10::cuda::CUDAGuard guard(counter.device());
  launch_ticks(counter.mutable_data_ptr<int32_t>(), static_cast<int>(launches), c10::cuda::getCurrentCUDAStream());
}

int64_t peak_bandwidth_cuda(const Tensor& like) {
  const c10::cuda::CUDAGuard guard(like.device());
  return peak_memory_bandwidth();
}
#endif

}  // namespace kernel_ledger
