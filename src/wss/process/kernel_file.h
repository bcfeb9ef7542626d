// Files of the kernel that hold a word or a table: /sys/kernel/mm/…, /sys/kernel/debug/….
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tidegauge::wss {

// All of its text, without the newline at the end.
base::Result<std::string> readKernelFile(const std::string& path);

// In one write, as these files want it. 0, or what errno said.
int writeKernelFile(const std::string& path, std::string_view text);

// The same; the error says which file, and what was to be written.
base::Status setKernelFile(const std::string& path, std::string_view text);

}  // namespace tidegauge::wss
