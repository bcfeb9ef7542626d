// whatIf(): what a recorded program would have met under other settings, or on another card.
//
//   verify(trace) → Program → whatIf(tape, program, {expandable_segments:True}) → peak, OOMs, …
//
// Everything that concerns segments is made anew. What the program does is taken as it was: so a
// request that failed when it was recorded and fits now is given back at once (what came after it
// is not known), and from the first one that fails here and did not there on it is a forecast of a
// program that would have gone on the same. Measured against PyTorch itself:
// docs/explain/replay.md. Cost: about 0.1 µs an event.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "replay/allocator/allocator.h"
#include "replay/allocator/model_driver.h"
#include "replay/program.h"
#include "replay/tape.h"

namespace tidegauge::replay {

// Whoever wants to know all: every request, and the entries that the allocator writes for it.
class Witness : public Listener {
 public:
  // What is older than the recording is there; comes first.
  virtual void startsFrom(const Allocator& allocator) = 0;
  virtual void begins(const Request& request) = 0;
};

struct WhatIfOptions {
  Settings settings;
  Placement placement = Placement::kLowest;  // of no effect but under TieBreak::kAddress
  // What the driver gives: of the device's memory others may hold a part. Not known: nothing is
  // refused.
  std::optional<uint64_t> capacity_bytes{};
  // All of the device's: settings.fraction is of it. Not known: capacity_bytes.
  std::optional<uint64_t> device_bytes{};

  uint64_t deviceBytes() const {
    return device_bytes.value_or(capacity_bytes.value_or(kUnknownDeviceBytes));
  }
  // After each request: its step, and what is reserved and in blocks then.
  std::function<void(model::Step, uint64_t reserved_bytes, uint64_t active_bytes)> at_request{};
  Witness* witness = nullptr;
  bool until_failure = false;  // nothing of what comes after the first request that fails
};

struct Failure {
  model::Step step = 0;
  uint64_t request_bytes = 0;
  bool was_recorded = false;  // it failed then, too
};

struct Outcome {
  Stats stats;
  std::vector<Failure> failures;  // the first kMaxFailures of stats.ooms
  // Reserved, and in no block, while most was in blocks: the least.
  uint64_t unused_at_peak_bytes = 0;
  uint64_t reserved_at_start_bytes = 0;  // older than the recording
  uint64_t rescued = 0;                  // failed when it was recorded, and fits here
  std::optional<model::Step> first_rescued{};
  // Searches took too long to go on: nothing is known of what comes after.
  std::optional<model::Step> stopped_at{};
  // From this step on it is a forecast: the program would have seen something else than it did.
  std::optional<model::Step> forecast_from{};
  Allocator end;  // without a driver: to be looked at
};
inline constexpr size_t kMaxFailures = 1000;

Outcome whatIf(const Tape& tape, const Program& program, const WhatIfOptions& options);

}  // namespace tidegauge::replay
