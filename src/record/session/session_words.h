// What the numbers of the BPF programs (bpf/records.h) are called in files, metrics and reports.
#pragma once

#include <cstddef>
#include <string_view>

namespace tidegauge::record {

std::string_view lossReason(size_t loss);          // enum loss: "memory ring full"
std::string_view directionName(size_t direction);  // enum copy_direction: "host to device"

}  // namespace tidegauge::record
