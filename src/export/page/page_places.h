// The parts of an exported page in full detail: steps and blocks.
//
// The page shows the nearest described step, and names it. If they fit, all steps of the range are
// described. If not: the important ones (its ends, out-of-memory events and beginnings of phases in
// it; the peaks and the step of the overview's holders, wherever they are), and the highest steps
// of equal parts of the range in between.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>

#include "export/page/one_file_page.h"
#include "export/page/page_pack.h"

namespace tidegauge::exporting {

// The holders in an overview: their step, and the block that each row links to.
struct Holders {
  std::optional<analysis::Step> step;
  std::vector<uint32_t> allocations;
};
Holders holdersOf(const nlohmann::json& overview);

// Stacks are most of the text and repeat often, so each is written once, as "stack?id=812", and
// {"shared":812} replaces it in the answers. Quotes in texts are escaped, so that no text of a file
// can look like this.
class SharedStacks {
 public:
  // Asks `key`, and adds the answer with its stack if the page lacks that.
  base::Status add(const Ask& ask, std::string key, PagePack& pack);

 private:
  std::set<uint32_t> known_;
};

struct Places {
  PagePack pack;
  size_t steps = 0;  // of the range
};
// For a device with events. Empty if not even the important steps fit.
base::Result<Places> placesOf(const Ask& ask, const analysis::AnalysedTrace& analysed,
                              const analysis::DeviceAnalysis& device,
                              const analysis::StepRange& range, const Holders& holders,
                              SharedStacks& stacks, size_t most_bytes);

struct Details {
  PagePack pack;
  size_t allocations = 0;    // of `drawn`
  uint64_t least_bytes = 0;  // the smallest that was taken from `drawn` for its size
};
// The blocks that the holders link to, then the largest of `drawn`, which is ascending.
base::Result<Details> detailsOf(const Ask& ask, const analysis::AnalysedTrace& analysed,
                                const Holders& holders, std::span<const uint32_t> drawn,
                                SharedStacks& stacks, size_t most_bytes);

// Flame graphs: of the peak, of the live memory at possible positions of the cursor, of the range.
base::Status addFlames(const Ask& ask, const analysis::AnalysedTrace& analysed,
                       const analysis::DeviceAnalysis& device, const analysis::StepRange& range,
                       PagePack& pack);

}  // namespace tidegauge::exporting
