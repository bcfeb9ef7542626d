// What the numbers of a recording mean in words: codes that calls return, reasons of losses.
//
//   codeWords(2)                  "out of memory"
//   lossMeaning("no stack")       "…its call site is missing; the figures are right"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tidegauge::model {

inline constexpr int32_t kOutOfMemoryCode = 2;
// Of the driver's and the runtime's codes, which agree on these; empty: see the CUDA headers.
std::string_view codeWords(int32_t code);
// What is wrong with the figures after a loss of this reason, and what to do about it.
std::string_view lossMeaning(std::string_view reason);
// What a kernel is called that has no name: "kernel at 0x7f1a40 (no name)". Two of them are two.
std::string namelessKernel(uint64_t handle);

}  // namespace tidegauge::model
