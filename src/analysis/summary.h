// Everything that the report and the overview show about one device, computed once.
#pragma once

#include <optional>
#include <vector>

#include "analysis/growth/growth.h"
#include "analysis/identities.h"
#include "analysis/oom/oom.h"
#include "analysis/trace/peak.h"

namespace tidegauge::analysis {

// Which of several out-of-memory events is explained. A program that has just failed wants to know
// about the last.
enum class OomChoice : uint8_t { kWorst, kLast };

struct PhaseSummary {
  uint32_t annotation = 0;
  Step begin_step = 0;
  Step end_step = 0;
  uint16_t depth = 0;
  uint64_t peak_active_bytes = 0;
  int64_t peak_step = 0;  // begin_step − 1: the state before its first event; −1: of the recording
  int64_t grew_bytes = 0;  // active after its last event minus active before its first
};

struct DeviceSummary {
  const DeviceAnalysis* device = nullptr;
  Totals initial;
  Totals final;
  PeakReport peak;
  bool only_state = false;  // hasOnlyState(): no peak is known
  std::vector<OomReport> ooms;
  OomChoice oom_choice = OomChoice::kWorst;
  size_t explained_oom = 0;       // index in ooms: the worst, or the last
  std::optional<Holders> at_oom;  // at that event
  FreeSums final_free;
  ByProvenance at_peak;
  std::vector<PhaseSummary> phases;  // outer ones first, at most kMaxPhases
  size_t phases_total = 0;
  std::vector<Identity> identities;
  Growth growth;
  uint64_t allocations_by_provenance[4] = {};
  std::optional<uint64_t> ceiling_bytes;  // largest reserved + free in the driver seen at an OOM
  // Live bytes of MemPools at the worst event that may be unmapped (unmappedBytes()): the ceiling
  // is an upper bound then.
  uint64_t unmapped_bytes = 0;

  uint64_t failedRequests() const { return refusedRequests(ooms); }
};

inline constexpr size_t kMaxPhases = 200;

// Phases with events of the device, outer ones first. A phase begins with the state before its
// first event, which may be its peak. O(phases · 256 events).
std::vector<PhaseSummary> phaseSummaries(const DeviceAnalysis& device, size_t most = SIZE_MAX);

DeviceSummary summarise(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                        OomChoice choice = OomChoice::kWorst);

// "cuda:0"; "pinned host memory" for ordinal −1.
std::string deviceLabel(const model::Device& device);

}  // namespace tidegauge::analysis
