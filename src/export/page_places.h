// What an exported page knows word by word: steps and blocks.
//
// The page shows the nearest step that is described, and says which. With room for all of them all
// steps are; else those that matter (peaks, out-of-memory events, beginnings of phases, where the
// overview's links lead), and the highest steps of equal parts of the range in between.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "export/one_file_page.h"
#include "export/page_pack.h"

namespace tidegauge::exporting {

// What an overview leads to.
struct Links {
  std::vector<analysis::Step> steps;
  std::vector<uint32_t> allocations;
};
Links linksOf(const nlohmann::json& overview);

// Stacks are most of what is to be said, and are the same again and again: each is written once,
// as "stack?id=812", and {"shared":812} stands in the answers. Quotes inside of texts are escaped, so
// that no text of a file can read like this.
class SharedStacks {
 public:
  // Asks `key`, and adds the answer with its stack, if that is not in the page yet.
  base::Status add(const Ask& ask, std::string key, PagePack& pack);

 private:
  std::set<uint32_t> known_;
};

struct Places {
  PagePack pack;
  size_t steps = 0;
};
// Of a device with events. None if not even those that matter fit.
base::Result<Places> placesOf(const Ask& ask, const analysis::AnalysedTrace& analysed,
                              const analysis::DeviceAnalysis& device, analysis::StepRange range,
                              const Links& links, SharedStacks& stacks, size_t most_bytes);

struct Details {
  PagePack pack;
  size_t allocations = 0;
  uint64_t least_bytes = 0;  // of those taken from `drawn`
};
// Those that are linked, then the largest of `drawn`.
base::Result<Details> detailsOf(const Ask& ask, const analysis::AnalysedTrace& analysed,
                                const Links& links, std::span<const uint32_t> drawn,
                                SharedStacks& stacks, size_t most_bytes);

// Flame graphs: of the peak, of what was live at the marked steps, of the range.
base::Status addFlames(const Ask& ask, const analysis::AnalysedTrace& analysed,
                       const analysis::DeviceAnalysis& device, analysis::StepRange range,
                       PagePack& pack);

}  // namespace tidegauge::exporting
