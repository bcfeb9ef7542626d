// The parameters of kernels, as a cubin says them: where each is in the memory for parameters, and
// how large it is.
//
//   axpy(int n, float a, float* x)  →  "_Z4axpyifPf": {0, 4}, {4, 4}, {8, 8}
//
// They are in the sections .nv.info.NAME, one attribute EIATTR_KPARAM_INFO (0x17) for each, or
// EIATTR_KPARAM_INFO_V2 (0x45) if they take more than 4 KiB. Reads hostile
// bytes. Cost: a pass over the section headers and those sections. Source: cubins that ptxas of
// CUDA 12.9 and 13.5 made; there is no public description.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tidegauge::record {

struct KernelParameter {
  uint32_t offset = 0;
  uint32_t size_bytes = 0;
  bool operator==(const KernelParameter&) const = default;
};
using KernelParameters = std::vector<KernelParameter>;  // in their order

struct CubinCounts {
  uint64_t kernels = 0;
  uint64_t damaged = 0;  // kernels whose parameters contradict each other or the file
};

// Calls visit(mangled name, parameters) for each kernel whose parameters are known.
CubinCounts eachKernel(std::span<const uint8_t> cubin,
                       const std::function<void(std::string_view, KernelParameters)>& visit);

// "0:4 4:4 8:8", as recordings have them; empty for no parameters.
std::string parametersText(const KernelParameters& parameters);

}  // namespace tidegauge::record
