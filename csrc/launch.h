// What bindings.cpp may call of the .cu files. Each function launches on `stream` of the current device, returns
// without waiting, and throws std::runtime_error if CUDA refuses the launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "chain.h"

namespace kernel_ledger {

// One launch for any `count` of floats (none for 0): fused_chain_vector where `vectorized` and all three pointers
// are on 16-byte boundaries, fused_chain_scalar otherwise. `out` may not overlap the inputs.
void launch_fused_chain(const float* x, const float* residual, float* out, int64_t count,
                        const ChainConstants& constants, bool vectorized, cudaStream_t stream);

// One launch for any `count` of floats (none for 0): gelu_vector where `vectorized` and both pointers are on 16-byte
// boundaries, gelu_scalar otherwise. `out` may not overlap `x`.
void launch_gelu(const float* x, float* out, int64_t count, bool vectorized, cudaStream_t stream);

// One launch of ruler_spin: no shorter than `nanoseconds` on the device's global timer.
void launch_spin(int64_t nanoseconds, int blocks, int threads, cudaStream_t stream);

// One launch of ruler_touch: reads `bytes` bytes from a 16-byte boundary, adds 1 to each 32-bit word (and to each
// of the last bytes that do not fill 16), writes them back.
void launch_touch(void* buffer, int64_t bytes, int blocks, int threads, cudaStream_t stream);

// `launches` launches of ruler_tick, each of one thread that adds 1 to *counter.
void launch_ticks(int32_t* counter, int launches, cudaStream_t stream);

// Peak bytes/s of the current device's memory; 0 where CUDA does not tell its clock or width.
int64_t peak_memory_bandwidth();

}  // namespace kernel_ledger
