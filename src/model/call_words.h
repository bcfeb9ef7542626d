// Words for the numbers of a recording: codes that calls return, reasons of losses.
//
//   codeWords(2)                  "out of memory"
//   lossMeaning("no stack")       "…its call site is missing; the figures are right"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tidegauge::model {

inline constexpr int32_t kOutOfMemoryCode = 2;
// For codes of the driver and the runtime, which agree on these; empty: see the CUDA headers.
std::string_view codeWords(int32_t code);
// How a loss of this reason affects the figures, and what to do about it.
std::string_view lossMeaning(std::string_view reason);
// The name of an unnamed kernel: "kernel at 0x7f1a40 (no name)". Each handle is one kernel.
std::string namelessKernel(uint64_t handle);

}  // namespace tidegauge::model
