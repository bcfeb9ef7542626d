// What an exported page knows word by word: steps and blocks.
//
// The page shows the nearest step that is described, and says which. With room for all of them all
// steps of the range are; else those that matter (its ends, out-of-memory events and beginnings of
// phases in it; the peaks and the step of the overview's holders, wherever they are), and the
// highest steps of equal parts of the range in between.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>

#include "export/page/one_file_page.h"
#include "export/page/page_pack.h"

namespace tidegauge::exporting {

// Who holds the memory, says an overview: when, and the block that each row leads to.
struct Holders {
  std::optional<analysis::Step> step;
  std::vector<uint32_t> allocations;
};
Holders holdersOf(const nlohmann::json& overview);

// Stacks are most of what is to be said, and are the same again and again: each is written once,
// as "stack?id=812", and {"shared":812} stands in the answers. Quotes inside of texts are escaped,
// so that no text of a file can read like this.
class SharedStacks {
 public:
  // Asks `key`, and adds the answer with its stack, if that is not in the page yet.
  base::Status add(const Ask& ask, std::string key, PagePack& pack);

 private:
  std::set<uint32_t> known_;
};

struct Places {
  PagePack pack;
  size_t steps = 0;  // of the range
};
// Of a device with events. None if not even those that matter fit.
base::Result<Places> placesOf(const Ask& ask, const analysis::AnalysedTrace& analysed,
                              const analysis::DeviceAnalysis& device, analysis::StepRange range,
                              const Holders& holders, SharedStacks& stacks, size_t most_bytes);

struct Details {
  PagePack pack;
  size_t allocations = 0;    // of `drawn`
  uint64_t least_bytes = 0;  // of those taken from `drawn` for their size
};
// Those that the holders lead to, then the largest of `drawn`, which is ascending.
base::Result<Details> detailsOf(const Ask& ask, const analysis::AnalysedTrace& analysed,
                                const Holders& holders, std::span<const uint32_t> drawn,
                                SharedStacks& stacks, size_t most_bytes);

// Flame graphs: of the peak, of what was live where the cursor may stand, of the range.
base::Status addFlames(const Ask& ask, const analysis::AnalysedTrace& analysed,
                       const analysis::DeviceAnalysis& device, analysis::StepRange range,
                       PagePack& pack);

}  // namespace tidegauge::exporting
