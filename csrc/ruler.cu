// The ruler: kernels whose launch count, grid, bytes and least duration are known before they run. Profilers are
// judged by them, so that they do nothing else.
#include "checked.h"
#include "launch.h"

namespace kernel_ledger {
namespace {

// %globaltimer counts nanoseconds but advances in ticks (32 ns to about 1 us, by GPU and driver).
__device__ __forceinline__ uint64_t global_timer() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

}  // namespace

// The first thread of each block first waits for a tick, so that `start` is the time at that very moment and not up
// to a tick ago, and then until the timer shows `nanoseconds` more. The block began before the tick, and a
// reading is never ahead of the time, so the kernel lasts at least `nanoseconds` for any length of a tick, and
// at most two ticks more, apart from its launch.
extern "C" __global__ void ruler_spin(uint64_t nanoseconds) {
  if (threadIdx.x == 0) {
    const uint64_t before = global_timer();
    uint64_t start = before;
    while (start == before) start = global_timer();
    while (global_timer() - start < nanoseconds) {
    }
  }
  __syncthreads();
}

extern "C" __global__ void ruler_touch(uint4* buffer, int64_t bytes) {
  const int64_t vectors = bytes / static_cast<int64_t>(sizeof(uint4));
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (int64_t i = first; i < vectors; i += stride) {
    const uint4 old = buffer[i];
    buffer[i] = make_uint4(old.x + 1, old.y + 1, old.z + 1, old.w + 1);
  }
  for (int64_t i = vectors * sizeof(uint4) + first; i < bytes; i += stride) {
    reinterpret_cast<unsigned char*>(buffer)[i] += 1;
  }
}

// Launches on one stream follow each other, so that a plain add is enough; the sum is the number that ran.
extern "C" __global__ void ruler_tick(int32_t* counter) { *counter += 1; }

void launch_spin(int64_t nanoseconds, int blocks, int threads, cudaStream_t stream) {
  ruler_spin<<<blocks, threads, 0, stream>>>(static_cast<uint64_t>(nanoseconds));
  KERNEL_LEDGER_CHECKED(cudaGetLastError());
}

void launch_touch(void* buffer, int64_t bytes, int blocks, int threads, cudaStream_t stream) {
  ruler_touch<<<blocks, threads, 0, stream>>>(static_cast<uint4*>(buffer), bytes);
  KERNEL_LEDGER_CHECKED(cudaGetLastError());
}

void launch_ticks(int32_t* counter, int launches, cudaStream_t stream) {
  for (int i = 0; i < launches; ++i) ruler_tick<<<1, 1, 0, stream>>>(counter);
  KERNEL_LEDGER_CHECKED(cudaGetLastError());
}

int64_t peak_memory_bandwidth() {
  int device = 0, kilohertz = 0, bits = 0;
  KERNEL_LEDGER_CHECKED(cudaGetDevice(&device));
  KERNEL_LEDGER_CHECKED(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, device));
  KERNEL_LEDGER_CHECKED(cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, device));
  return 2 * int64_t{1000} * kilohertz * (bits / 8);  // double data rate: two transfers a clock
}

}  // namespace kernel_ledger
