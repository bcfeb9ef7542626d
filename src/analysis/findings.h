// What is odd about the memory of one device, beside the verdict on its out-of-memory event: each
// finding with its figures and the SQL that gives them. The words are in
// report/story/finding_words.h; text, JSON and page use the same.
//
//   {kLost, kMedium, figures: blocks 12, peak_bytes 3,145,728, sql: "SELECT …"}
//
// Cost: O(identities + issues); everything else is in the summary.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/oom/advice.h"
#include "analysis/summary.h"
#include "model/incomplete.h"

namespace tidegauge::analysis {

inline constexpr const char* kIncompleteSql = "SELECT figures, reason, at_least FROM incomplete";

enum class FindingKind : uint8_t {
  kIncomplete,      // the recorder lost or could not see something
  kOutOfMemory,     // the explained event
  kGivenBack,       // cached segments were returned before the request failed
  kPinnedAtEnd,     // free memory that active blocks keep from the driver
  kOlder,           // memory at the peak from before the recording
  kLost,            // memory at the peak without a recorded alloc or free event
  kUncertainPeak,   // some block sizes are inferred
  kContradiction,   // an identity does not hold
  kOnlyState,       // one event, or none: no peak is known
  kRingOverflow,    // the oldest events are missing
  kSilentRefusals,  // with these settings a request fails without an event
};
std::string_view name(FindingKind kind);  // "incomplete", "out_of_memory", …

struct Finding {
  enum class Severity : uint8_t { kHigh, kMedium, kLow };
  FindingKind kind;
  Severity severity = Severity::kLow;
  std::vector<Evidence> figures{};
  std::string sql{};                       // its result contains every figure; empty: no figures
  std::string setting{};                   // of kSilentRefusals: "expandable_segments"
  const Identity* contradicted = nullptr;  // of the summary
  bool in_story = false;                   // the sentences of the report say the same

  std::optional<uint64_t> find(std::string_view figure) const;
  uint64_t value(std::string_view figure) const { return find(figure).value_or(0); }
};
std::string_view name(Finding::Severity severity);  // "high", …

// Most severe first. `has_verdict`: the summary's explained out-of-memory event has one.
std::vector<Finding> findingsOf(const AnalysedTrace& analysed, const DeviceSummary& summary,
                                const model::Incomplete& incomplete, bool has_verdict);

}  // namespace tidegauge::analysis
