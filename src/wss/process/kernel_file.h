// Kernel files that contain a word or a table: /sys/kernel/mm/…, /sys/kernel/debug/….
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tidegauge::wss {

// All of its text, without the newline at the end.
base::Result<std::string> readKernelFile(const std::string& path);

// Writes in one call, as these files require. 0, or errno.
int writeKernelFile(const std::string& path, std::string_view text);

// The same; the error names the file and the value.
base::Status setKernelFile(const std::string& path, std::string_view text);

// The error for a kernel feature that a measurement needs and this kernel lacks.
base::Error missingFeature(std::string what, std::string hint);
// What is asked for is not there, or cannot be read.
base::Error unreadable(std::string what, std::string hint = {});

}  // namespace tidegauge::wss
