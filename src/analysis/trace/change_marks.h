// Change marks: do two sums change by the same bytes at every step? A mark is the sum of all
// changes of kMarkSteps steps, each times a number that depends on its step's place alone.
//
//   step        0     1     2      3           mark = 512·w(0) + 512·w(1) − 512·w(3)
//   change   +512  +512     0   −512           the same changes in another order: another mark
//
// Equal marks mean equal changes: of sizes that are multiples of 512 others agree by chance once in
// 2^55. (A file could be made so that they agree, and would gain nothing: both sums are computed
// here.) So millions of steps are compared without a walk over both sums, which need not even be
// known at the same time or in the order of steps. Where marks differ, a walk shows where. Cost:
// some 2 ns per change.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tidegauge::analysis {

inline constexpr uint32_t kMarkSteps = 128;

// Odd numbers without a pattern that changes of neighbouring steps could share. The weight of a
// step depends on its place within its mark.
inline constexpr std::array<uint64_t, kMarkSteps> kMarkWeights = [] {
  std::array<uint64_t, kMarkSteps> weights{};
  for (size_t i = 0; i < weights.size(); ++i) {
    uint64_t mixed = (i + 1) * 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9U;
    weights[i] = (mixed ^ (mixed >> 32)) | 1U;
  }
  return weights;
}();

// What a change at the step is multiplied by.
inline uint64_t markWeight(uint32_t step) { return kMarkWeights[step % kMarkSteps]; }

}  // namespace tidegauge::analysis
