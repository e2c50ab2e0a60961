// What the elementwise kernels share: threads of a block, floats of a vector load, and the blocks for a count.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>

namespace kernel_ledger {

constexpr int kThreads = 256;
constexpr int kWidth = 4;  // floats in a 16-byte load

inline bool on_vector_boundary(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

// One element (or vector) a thread; the kernels' strides matter only past INT_MAX blocks.
inline unsigned blocks_for(int64_t threads) {
  return static_cast<unsigned>(std::min<int64_t>((threads + kThreads - 1) / kThreads, INT_MAX));
}

}  // namespace kernel_ledger
