// Any bytes → the reader of fat binaries and of kernels' parameters: no more than what the bytes
// have, and parameters that follow each other.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "record/cubin/fat_binary.h"
#include "record/cubin/kernel_parameters.h"

namespace {

using namespace tidegauge::record;

void require(bool holds) {
  if (!holds) std::abort();
}

void readKernels(std::span<const uint8_t> cubin) {
  eachKernel(cubin, [](std::string_view name, const KernelParameters& parameters) {
    require(!name.empty());
    uint64_t end = 0;
    for (const KernelParameter& it : parameters) {
      require(it.offset >= end && it.size_bytes > 0);
      end = uint64_t{it.offset} + it.size_bytes;
    }
    require(parameters.empty() == parametersText(parameters).empty());
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const uint8_t> bytes(data, size);
  readKernels(bytes);
  uint64_t all = 0, some = 0;
  auto counts = eachCubin(bytes, Cubins::kAll, [&](std::span<const uint8_t> cubin) {
    ++all;
    readKernels(cubin);
  });
  require(counts.unpacked == all && all <= counts.cubins);
  eachCubin(bytes, Cubins::kSmallest, [&](std::span<const uint8_t>) { ++some; });
  require(some <= all);
  return 0;
}
