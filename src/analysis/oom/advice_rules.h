// The rules of advice.h, one idea per file:
//
//   advice_hold_less.cpp   too few bytes: hold less, request less, waste less
//   advice_segments.cpp    they are in pieces: settings that split segments differently
//   advice_flush.cpp       they could have been returned: where to flush the cache
//   advice_driver.cpp      no allocator is between the program and the driver
//   advice_elsewhere.cpp   others hold them: pools, streams, processes, a limit, a flaw
//
// advice.cpp selects the rules for an event.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/oom/advice.h"

namespace tidegauge::analysis {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;

// Shared by the rules: their input, and the advice so far.
struct Adviser {
  Adviser(const AnalysedTrace& of, const DeviceAnalysis& on)
      : analysed(of),
        trace(of.trace),
        device(on),
        settings(of.trace.settings),
        rules(rulesOf(of.trace)) {}

  Advice& add(AdviceKind kind, std::string setting = {});
  // Whether the recorded allocator has the setting. Absent: unknown.
  std::optional<bool> has(std::string_view setting) const;
  bool canTryExpandable() const;
  bool splitLimitSet() const { return rules.max_split_bytes != model::kUnknownBytes; }

  const AnalysedTrace& analysed;
  const model::Trace& trace;
  const DeviceAnalysis& device;
  const model::AllocatorSettings& settings;
  AllocatorRules rules;
  std::vector<Advice> advice{};
};

// Adds a number that supports the advice.
void rest(Advice& advice, std::string name, uint64_t value, Evidence::Unit unit,
          std::string source);
std::string atEvent(const OomVerdict& v);  // "state at step 812"

// Without an out-of-memory event, less than this is not worth mentioning.
inline constexpr uint64_t kWorthBytes = uint64_t{256} << 20;

void onCapacity(Adviser& c, const OomVerdict& v, uint64_t lacking);
void onNeverFits(Adviser& c, const OomVerdict& v, uint64_t too_many);
// `lacking`: by how much at least; absent: the bytes exist, in pieces that no setting joins.
void holdLess(Adviser& c, const OomVerdict& v, std::optional<uint64_t> lacking);
void onWaste(Adviser& c, const OomVerdict& v);
void smallerRequest(Adviser& c, const OomVerdict& v);

void onDriverMemory(Adviser& c, const OomVerdict& v);

void tryExpandable(Adviser& c, const OomVerdict& v);
void splitLimit(Adviser& c, const OomVerdict& v);
void dropSplitLimit(Adviser& c);
void onReservedPeak(Adviser& c);

void flushAtTheTrough(Adviser& c, const OomVerdict& v);
void onReleasableAtTheEnd(Adviser& c);

void onOtherPool(Adviser& c, const OomVerdict& v);
void onHeldInPools(Adviser& c, const OomVerdict& v);
void onNoFlush(Adviser& c, const OomVerdict& v);
void onOthers(Adviser& c, const OomVerdict& v, uint64_t bytes);
void onCap(Adviser& c, const OomVerdict& v);
void onFlaw(Adviser& c, const OomVerdict& v, uint64_t bytes);

}  // namespace tidegauge::analysis
