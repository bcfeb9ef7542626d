#include "replay/what_if.h"

#include <algorithm>
#include <utility>

#include "replay/rebuild.h"

namespace tidegauge::replay {
namespace {

// Free blocks and gaps skipped in searches, each up to 100 ns: with this number, all candidates
// together take seconds. No real trace that was tried takes a sixth of it.
constexpr uint64_t kMaxReplaySearched = 20'000'000;
// A replay looks every 65,536 requests, some 10 ms, whether it is still wanted.
constexpr uint64_t kStopMask = 0xffff;

class Silent final : public Listener {
 public:
  void wrote(const Entry&) override {}
};

// The allocator of a kept Outcome is never asked for memory.
class NoDriver final : public Driver {
 public:
  std::unique_ptr<Driver> clone() const override { return std::make_unique<NoDriver>(); }
  std::optional<uint64_t> malloc(uint64_t) override { return std::nullopt; }
  void free(uint64_t, uint64_t) override {}
  uint64_t reserve(uint64_t) override { return 0; }
  void unreserve(uint64_t, uint64_t) override {}
  bool map(uint64_t, uint64_t) override { return false; }
  void unmap(uint64_t) override {}
  uint64_t freeBytes() const override { return 0; }
};

NoDriver no_driver;
Silent silent;

class Run {
 public:
  Run(const Tape& tape, const Program& program, const WhatIfOptions& options)
      : program_(program),
        options_(options),
        outcome_{{}, {}, 0, 0, 0, {}, {}, {}, start(tape)},
        allocator_(outcome_.end),
        driver_(options.capacity_bytes.value_or(kUnknownDeviceBytes), base(), reservedNow(),
                options.placement) {
    if (options.witness != nullptr) options.witness->startsFrom(allocator_);
    allocator_.rebind(driver_, listener());
    live_.resize(program.names);
  }

  Outcome go() {
    outcome_.reserved_at_start_bytes = reservedNow();
    look();
    for (const Request& request : program_.requests) {
      if (options_.witness != nullptr) options_.witness->begins(request);
      one(request);
      look();
      if (options_.at_request) options_.at_request(request.step, reservedNow(), activeNow());
      if (options_.until_failure && allocator_.stats().ooms > 0) break;
      if ((++requests_ & kStopMask) == 0 && options_.stop.stop_requested()) {
        outcome_.stopped_at = request.step;
        break;
      }
      if (allocator_.searched() + driver_.searched() > kMaxReplaySearched) {
        outcome_.stopped_at = request.step;
        break;
      }
    }
    outcome_.stats = allocator_.stats();
    allocator_.rebind(no_driver, silent);
    return std::move(outcome_);
  }

 private:
  void look() {
    uint64_t active_bytes = activeNow(), unused_bytes = reservedNow() - active_bytes;
    if (active_bytes > peak_bytes_) {
      peak_bytes_ = active_bytes;
      outcome_.unused_at_peak_bytes = unused_bytes;
    } else if (active_bytes == peak_bytes_) {
      outcome_.unused_at_peak_bytes = std::min(outcome_.unused_at_peak_bytes, unused_bytes);
    }
  }
  // Memory older than the recording is unchanged.
  Allocator start(const Tape& tape) {
    Allocator allocator(options_.settings, options_.deviceBytes(), no_driver, silent);
    rebuild(tape, 0, nullptr, allocator, live_);
    return allocator;
  }
  Listener& listener() const {
    return options_.witness != nullptr ? static_cast<Listener&>(*options_.witness) : silent;
  }
  uint64_t reservedNow() const {
    return static_cast<uint64_t>(outcome_.end.stats()[Quantity::kReservedBytes].all.current);
  }
  uint64_t activeNow() const {
    return static_cast<uint64_t>(outcome_.end.stats()[Quantity::kActiveBytes].all.current);
  }
  // Above all existing memory.
  uint64_t base() const {
    const auto& segments = allocator_.byAddress();
    if (segments.empty()) return ModelDriver::kBase;
    const SegmentRow& last = allocator_.segment(segments.rbegin()->second);
    return std::max(ModelDriver::kBase, roundUp(last.address + last.bytes, kSegmentStepBytes));
  }

  void forecastFrom(model::Step step) {
    if (!outcome_.forecast_from) outcome_.forecast_from = step;
  }
  void malloc(const Request& request) {
    auto block = allocator_.malloc(request.bytes, request.stream, request.owner, request.name);
    if (!block) {
      if (outcome_.failures.size() < kMaxFailures)
        outcome_.failures.push_back({request.step, request.bytes, request.failed});
      if (!request.failed) forecastFrom(request.step);
      return;
    }
    if (request.failed) {
      ++outcome_.rescued;
      if (!outcome_.first_rescued) outcome_.first_rescued = request.step;
      forecastFrom(request.step);
      look();
      allocator_.free(*block, false);
      return;
    }
    live_[request.name] = *block;
  }
  void one(const Request& request) {
    switch (request.op) {
      case Op::kMalloc:
        malloc(request);
        break;
      case Op::kFree: {
        BlockId block = live_[request.name];
        if (allocator_.holds(block, request.name) && allocator_.block(block).is_allocated)
          allocator_.free(block, request.is_shared);
        break;
      }
      case Op::kDone: {
        BlockId block = live_[request.name];
        if (allocator_.holds(block, request.name) && allocator_.block(block).waits)
          allocator_.markDone(block);
        break;
      }
      case Op::kEmptyCache:
        allocator_.emptyCache();
        break;
      case Op::kReleasePool:
        allocator_.releasePool(request.owner);
        break;
    }
  }

  const Program& program_;
  const WhatIfOptions& options_;
  std::vector<BlockId> live_;
  uint64_t peak_bytes_ = 0;  // in blocks
  uint64_t requests_ = 0;    // replayed
  Outcome outcome_;
  Allocator& allocator_;
  ModelDriver driver_;
};

}  // namespace

Outcome whatIf(const Tape& tape, const Program& program, const WhatIfOptions& options) {
  return Run(tape, program, options).go();
}

}  // namespace tidegauge::replay
