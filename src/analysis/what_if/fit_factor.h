// fitFactorOf(): advice with a size. "A smaller batch" becomes the share of today's activations
// with which every request of the recording fits, found by replay.
//
//   scales     activations and all other memory that comes and goes        × 0.81
//   constant   parameters, optimizer, gradients, older than the recording  × 1
//              └─ replayed: no request fails with 0.81, and with none of the smaller shares tried
//   "fits from 0.81 of today's activations on: a batch of 26 instead of 32, if they scale with it"
//
// What stays constant (kindOf() in fit_factor.cpp): memory older than the recording; memory for
// parameters, the optimizer and communication, by its category; requests of the size of such a
// block, as gradients are; what is never freed, if its stack never frees anything. When in doubt,
// memory is constant, so that the factor promises less. Cost: some 30 replays, each to its first
// failure; deterministic.
#pragma once

#include <optional>

#include "analysis/what_if/proven_program.h"

namespace tidegauge::analysis {

struct FitFactor {
  // False: the recording is not explained by the rules, so no factor is given.
  bool is_proven = false;
  Step step = 0;               // of the first request that fails
  uint64_t request_bytes = 0;  // of that request, rounded
  // Active there, without that request, in blocks.
  uint64_t scaling_bytes = 0, constant_bytes = 0;
  // The parts of constant_bytes.
  uint64_t older_bytes = 0, parameter_bytes = 0, optimizer_bytes = 0, communication_bytes = 0,
           gradient_bytes = 0, never_freed_bytes = 0;
  bool request_scales = true;
  // With this share of what scales, and with all smaller ones that were tried, no request fails.
  // Absent: not proven, or none was found.
  std::optional<double> factor{};
  // The same as a batch: the largest of 32 for which that holds.
  static constexpr uint32_t kBatchOf = 32;
  uint32_t batch = 0;
  uint64_t peak_reserved_bytes = 0;  // with that factor
  std::optional<uint64_t> available_bytes{};
  uint32_t replays = 0;  // that it took
};

// Absent: no request fails with the recording's own settings.
std::optional<FitFactor> fitFactorOf(const ProvenProgram& program);

}  // namespace tidegauge::analysis
