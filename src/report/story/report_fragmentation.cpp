// The section "fragmentation": free memory inside segments that could not be used, at the decisive
// moment: the explained out-of-memory event, else the end. `tidegauge frag` has the details.
#include <fmt/format.h>

#include "analysis/layout/fragmentation_details.h"
#include "analysis/layout/fragmentation_series.h"
#include "base/format.h"
#include "base/sizes.h"
#include "report/story/report_parts.h"

namespace tidegauge::report {

using base::humanBytes;

Section fragmentationSection(const SectionContext& context) {
  const analysis::DeviceSummary& summary = context.summary;
  const model::Device& device = summary.device->device;
  bool oom = summary.at_oom.has_value();
  analysis::Step last = device.steps() == 0 ? 0 : device.steps() - 1;
  analysis::Step step = oom ? summary.at_oom->step : last;
  analysis::FragmentationOptions options = analysis::ownOptions(context.analysed.trace, device);
  analysis::FragmentationDetails details =
      analysis::fragmentationAt(context.analysed, *summary.device, step, options);
  const analysis::FragmentationSums& sums = details.sample.sums;
  const analysis::FreeSums& free = sums.free;
  std::string from = fmt::format("fragmentation({}, {})", device.ordinal, step);
  Section section{.key = "fragmentation", .title = "Fragmentation", .json = {}};
  Link link{"fragmentation", "Fragmentation", {{"at", std::to_string(step)}}};
  if (free.bytes > 0) {
    Sentence lay{
        {plain(oom ? "At the out-of-memory event, " : "At the end, "),
         strong(humanBytes(free.bytes)), plain(" of "), strong(humanBytes(sums.reserved_bytes)),
         plain(" reserved were free, in "), strong(freeRanges(free.holes))},
        link,
        "SELECT free_bytes, reserved_bytes, holes, largest_hole_bytes, pinned_bytes FROM " + from};
    if (free.holes > 1) {
      lay.parts.push_back(plain("; the largest was "));
      lay.parts.push_back(strong(humanBytes(free.largest_bytes)));
    }
    if (free.releasable_bytes == free.bytes) {
      lay.parts.push_back(plain(". No active block kept it from the driver."));
    } else if (free.pinned_bytes == 0) {
      lay.parts.push_back(plain("."));
    } else {
      bool all = free.pinned_bytes == free.bytes;
      lay.parts.push_back(plain(". Active blocks in the same segments or pages kept "));
      lay.parts.push_back(all ? plain("all") : strong(humanBytes(free.pinned_bytes)));
      lay.parts.push_back(plain(" of it from the driver."));
    }
    section.sentences.push_back(std::move(lay));
    if (free.held_in_pools_bytes > 0) {
      section.sentences.push_back(
          {{strong(humanBytes(free.held_in_pools_bytes)),
            plain(" were in whole free segments or pages of private pools (CUDA graphs, MemPool). "
                  "Only requests of the same pool can use them, and empty_cache() cannot return "
                  "them while the pool is in use.")},
           link,
           "SELECT held_in_pools_bytes FROM " + from});
    }
    if (free.scatteredBytes() > 0) {
      section.sentences.push_back(
          {{strong(humanBytes(free.scatteredBytes())),
            plain(" were outside the largest free range. "),
            strong(free.stranded_bytes == 0 ? "All" : humanBytes(free.stranded_bytes)),
            plain(free.stranded_bytes == 0 ? " of the free memory could serve requests of "
                                           : " of the free memory could not serve requests of "),
            strong(humanBytes(options.request_bytes)),
            plain(" (95 % of the recorded requests are no larger).")},
           link,
           "SELECT scattered_bytes, stranded_bytes, large_request_bytes, '95 %' FROM " + from});
    }
    section.sentences.push_back(
        {{plain("The layout score is "),
          strong(fmt::format("{:.1f}", details.sample.reserved.score)),
          plain(" of 100 for reserved memory and "),
          strong(fmt::format("{:.1f}", details.sample.address.score)),
          plain(" for the address space. A high score means that free memory is cut into small "
                "ranges; it does not mean that a request failed.")},
         link,
         "SELECT 100 AS most, reserved_score, address_score FROM " + from});
  }
  auto scoreOrNull = [&](const analysis::LayoutScore& score) {  // no allocator, no layout
    return device.has_allocator ? nlohmann::json(score.score) : nlohmann::json();
  };
  section.json = {{"step", step},
                  {"reserved_bytes", sums.reserved_bytes},
                  {"free_bytes", free.bytes},
                  {"holes", free.holes},
                  {"largest_hole_bytes", free.largest_bytes},
                  {"scattered_bytes", free.scatteredBytes()},
                  {"pinned_bytes", free.pinned_bytes},
                  {"releasable_bytes", free.releasable_bytes},
                  {"held_in_pools_bytes", free.held_in_pools_bytes},
                  {"large_request_bytes", options.request_bytes},
                  {"stranded_bytes", free.stranded_bytes},
                  {"waste_bytes", sums.waste_bytes},
                  {"reserved_score", scoreOrNull(details.sample.reserved)},
                  {"address_score", scoreOrNull(details.sample.address)},
                  {"sql", "SELECT * FROM " + from}};
  return section;
}

}  // namespace tidegauge::report
