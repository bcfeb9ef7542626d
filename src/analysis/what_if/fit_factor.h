// fitFactorOf(): advice with a size. "A smaller batch" becomes the share of today's activations
// with which every request of the recording fits, found by replay.
//
//   scales     activations, and what else is allocated and freed           × 0.81
//   constant   parameters, optimizer, gradients, older than the recording  × 1     (scaling.h)
//
//   "fits from 0.81 of today's activations on: a batch of 26 instead of 32, if they scale with it"
//
//   0.01 …  fits  fits  fits │ fails … 1      bisection; then smaller shares are tried, since they
//                      0.81 ─┘                may fail where a larger one fits
//
// Cost: some 15 replays, half of them only to the first failure, and never more than kMaxReplays;
// deterministic.
#pragma once

#include <cstdint>
#include <optional>

#include "model/trace.h"

namespace tidegauge::analysis {

class ProvenProgram;

struct FitFactor {
  static constexpr uint32_t kBatchOf = 32;
  static constexpr uint32_t kMaxReplays = 100;
  static constexpr double kLeastFactor = 0.01;  // of those that are tried

  // False: the rules do not explain the recording, or a replay took too long: no factor is given.
  bool is_proven = false;
  model::Step step = 0;        // of the first request that fails
  uint64_t request_bytes = 0;  // of that request
  bool request_scales = true;
  // Live there, in blocks, without that request.
  uint64_t scaling_bytes = 0, constant_bytes = 0;
  // The parts of constant_bytes.
  uint64_t older_bytes = 0, parameter_bytes = 0, optimizer_bytes = 0, communication_bytes = 0,
           gradient_bytes = 0, never_freed_bytes = 0;
  // With this share of what scales no request fails, wherever the driver places segments, nor with
  // the smaller ones that were tried. Absent: not proven, or what stays constant is too much.
  std::optional<double> factor{};
  // The same as a batch: the most of kBatchOf with which no request fails. 0: not even 1.
  uint32_t batch = 0;
  uint64_t peak_reserved_bytes = 0;  // with that factor: the most, wherever segments are placed
  std::optional<uint64_t> available_bytes{};
  uint32_t replays = 0;  // that it took
};

// Absent: no request fails with the recording's own settings on the device asked about.
std::optional<FitFactor> fitFactorOf(const ProvenProgram& program);

}  // namespace tidegauge::analysis
