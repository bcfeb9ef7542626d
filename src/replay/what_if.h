// whatIf(): the outcome of a recorded program under other settings, or on another card.
//
//   verify(trace) → Program → whatIf(tape, program, {expandable_segments:True}) → peak, OOMs, …
//
// Everything about segments is computed anew. The program's behaviour is taken as recorded. A
// request that failed when recorded and fits now is freed at once (what came after it is unknown).
// From the first request that fails here and did not when recorded, the result is a forecast of a
// program that continued unchanged. Measured against PyTorch itself: docs/explain/replay.md. Cost:
// about 0.1 µs per event; besides the shared tape and program, 4 bytes per allocation of the
// program, 56 bytes per block and some 40 per free one.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "replay/allocator/allocator.h"
#include "replay/allocator/model_driver.h"
#include "replay/program.h"
#include "replay/tape.h"

namespace tidegauge::replay {

// For callers that need everything: every request, and the entries that the allocator writes for
// it.
class Witness : public Listener {
 public:
  // The state with memory older than the recording; called first.
  virtual void startsFrom(const Allocator& allocator) = 0;
  virtual void begins(const Request& request) = 0;
};

struct WhatIfOptions {
  Settings settings;
  Placement placement = Placement::kLowest;  // only matters under TieBreak::kAddress
  // What the driver provides: others may hold a part of the device. Absent: nothing is refused.
  std::optional<uint64_t> capacity_bytes{};
  // The whole device: settings.fraction is relative to it. Absent: capacity_bytes.
  std::optional<uint64_t> device_bytes{};

  uint64_t deviceBytes() const {
    return device_bytes.value_or(capacity_bytes.value_or(kUnknownDeviceBytes));
  }
  // Called after each request with its step and the reserved and active bytes.
  std::function<void(model::Step, uint64_t reserved_bytes, uint64_t active_bytes)> at_request{};
  Witness* witness = nullptr;
  bool until_failure = false;  // stops after the first request that fails
  // Once requested, the replay ends early: its outcome is incomplete (stopped_at) and of no use.
  std::stop_token stop{};
};

struct Failure {
  model::Step step = 0;
  uint64_t request_bytes = 0;
  bool was_recorded = false;  // it failed when recorded, too
};

struct Outcome {
  Stats stats;
  std::vector<Failure> failures;  // the first kMaxFailures of stats.ooms
  // Reserved and in no block at peak active bytes: the least.
  uint64_t unused_at_peak_bytes = 0;
  uint64_t reserved_at_start_bytes = 0;  // older than the recording
  uint64_t rescued = 0;                  // failed when recorded, and fits here
  std::optional<model::Step> first_rescued{};
  // Searches took too long: the rest is unknown.
  std::optional<model::Step> stopped_at{};
  // From this step on it is a forecast: the program would have behaved differently.
  std::optional<model::Step> forecast_from{};
  Allocator end;  // without a driver: for inspection
};
inline constexpr size_t kMaxFailures = 1000;

Outcome whatIf(const Tape& tape, const Program& program, const WhatIfOptions& options);

}  // namespace tidegauge::replay
