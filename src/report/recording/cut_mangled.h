// Readable parts of C++ names that were cut before they could be demangled:
//
//   "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl…"
//     →  "at::native::elementwise_kernel<…>"
//
// Recorders keep 239 bytes of a kernel's name, and names of templates are often longer. Other names
// are unchanged. Cost: O(length).
#pragma once

#include <string>
#include <string_view>

namespace tidegauge::report {

std::string readableName(std::string_view name);

}  // namespace tidegauge::report
