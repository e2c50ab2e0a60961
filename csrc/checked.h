// The one checked-call macro: a CUDA runtime call that fails throws with its place, its text and CUDA's reason.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace kernel_ledger {

inline void throw_unless_success(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + call +
                           " failed: " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")");
}

}  // namespace kernel_ledger

#define KERNEL_LEDGER_CHECKED(call) ::kernel_ledger::throw_unless_success((call), #call, __FILE__, __LINE__)
