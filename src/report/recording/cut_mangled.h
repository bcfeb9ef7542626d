// C++ names that were cut before they could be demangled, as far as they can be read:
//
//   "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl…"
//     →  "at::native::elementwise_kernel<…>"
//
// Recorders keep 239 bytes of a kernel's name, and a name of templates is often longer. Every other
// name stays as it is. Cost: O(length).
#pragma once

#include <string>
#include <string_view>

namespace tidegauge::report {

std::string readableName(std::string_view name);

}  // namespace tidegauge::report
