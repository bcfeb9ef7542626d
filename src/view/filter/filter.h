// Filters: which allocations to show. All terms must hold.
//
//   device:0 stream:1,2 size:>=1MiB stack:"attention.py:118" -category:unknown
//   └─┬──┘ └──┬───┘    └─ a range └─ a text, or /expression/   └ "-": negated
//   key:value └ any of these
//
//   device, stream, pool     numbers as in the server's answers
//   provenance               traced, before_recording, lost, ghost; older = the middle two
//   category                 parameters, activations, attention, …
//   size, requested          >1MiB  <=1k  =4096  1MiB..2MiB       bytes of the block, as requested
//   life                     >1000  10..20                        in steps
//   born, freed              1000..2000  >5                       steps
//   live                     1234                                 live after that step
//   stack, phase             text or /expression/                 any frame; a phase open at birth
//   frame, stack_id, segment, id                                  numbers
//
// Cost: one pass over the allocations per filter; each name is matched once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/labels/text_pattern.h"
#include "analysis/trace/analysed_trace.h"
#include "base/result.h"
#include "view/filter/filter_set.h"

namespace tidegauge::view {

enum class FilterKey : uint8_t {
  kDevice,
  kStream,
  kPool,
  kProvenance,
  kCategory,
  kSize,
  kRequested,
  kLife,
  kBorn,
  kFreed,
  kLive,
  kStack,
  kPhase,
  kFrame,
  kStackId,
  kSegment,
  kId,
};

struct FilterTerm {
  FilterKey key = FilterKey::kDevice;
  bool negated = false;
  std::vector<int64_t> values{};  // of keys that list numbers or names
  uint64_t least = 0;             // for keys with a range, inclusive
  uint64_t most = UINT64_MAX;
  std::shared_ptr<analysis::TextPattern> text{};  // of stack and phase
};

struct Filter {
  static constexpr size_t kMaxBytes = 4000;
  static constexpr size_t kMaxTerms = 32;
  std::vector<FilterTerm> terms;
};

// Errors name the term and its valid values.
base::Result<Filter> parseFilter(std::string_view text);

FilterSet applyFilter(const analysis::AnalysedTrace& analysed, const Filter& filter);

}  // namespace tidegauge::view
