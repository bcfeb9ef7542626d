// Filters: sums of what passes, and the set itself for other answers.
#include "analysis/trace/peak.h"
#include "server/session/questions.h"
#include "view/filter/filter.h"
#include "view/timeline/legend.h"

namespace tidegauge::server {

base::Result<std::shared_ptr<const view::FilterSet>> filterOf(const Question& question,
                                                              OpenFile& file) {
  std::string text = question.params.text("filter");
  if (text.find_first_not_of(' ') == std::string::npos) {
    return std::shared_ptr<const view::FilterSet>();
  }
  TG_ASSIGN_OR_RETURN(view::Filter filter, view::parseFilter(text));
  return file.filters.get(text, [&] {
    return std::make_shared<const view::FilterSet>(view::applyFilter(*file.analysed, filter));
  });
}

base::Result<Response> answerFilter(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(std::shared_ptr<const view::FilterSet> filter,
                      filterOf(question, *place.file));
  const model::Allocations& a = place.file->analysed->trace.allocations;
  const model::Device& device = place.device->device;
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint64_t all_bytes = 0;
  uint64_t live_at_peak_bytes = 0;
  json first = nullptr;
  analysis::Peak peak = place.device->totals.peakActive();
  for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
    all_bytes += a.block_bytes[row];
    if (!view::passes(filter.get(), row)) continue;
    if (count++ == 0) first = row;
    bytes += a.block_bytes[row];
    bool at_peak = device.steps() == 0 || analysis::isLiveAt(place.file->analysed->trace,
                                                             static_cast<uint32_t>(row), peak);
    if (at_peak) live_at_peak_bytes += a.block_bytes[row];
  }
  return jsonResponse({{"count", count},
                       {"bytes", bytes},
                       {"total_count", device.allocation_end - device.allocation_begin},
                       {"total_bytes", all_bytes},
                       {"peak_step", peak.place()},
                       {"live_at_peak_bytes", live_at_peak_bytes},
                       {"first_id", first}});
}

base::Result<Response> answerCategories(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(int64_t step, question.params.integer("step", 0, model::kNoStep - 1));
  const analysis::AnalysedTrace& analysed = *place.file->analysed;
  struct Sum {
    uint64_t bytes = 0;
    uint64_t blocks = 0;
  };
  std::array<Sum, analysis::kCategories> sums{};
  uint64_t total = 0;
  for (uint32_t row : place.device->live.liveAt(static_cast<model::Step>(step))) {
    Sum& sum = sums[static_cast<size_t>(analysed.categories->of(row))];
    sum.bytes += analysed.trace.allocations.block_bytes[row];
    sum.blocks++;
    total += analysed.trace.allocations.block_bytes[row];
  }
  json rows = json::array();
  for (size_t i = 0; i < sums.size(); ++i) {
    auto category = static_cast<analysis::Category>(i);
    rows.push_back({{"slot", i},
                    {"name", analysis::name(category)},
                    {"label", analysis::title(category)},
                    {"bytes", sums[i].bytes},
                    {"blocks", sums[i].blocks}});
  }
  uint64_t unknown = sums[static_cast<size_t>(analysis::Category::kUnknown)].bytes;
  double share = total == 0 ? 0 : static_cast<double>(unknown) / static_cast<double>(total);
  return jsonResponse({{"step", step},
                       {"total_bytes", total},
                       {"unknown_share", share},
                       {"rows", std::move(rows)}});
}

}  // namespace tidegauge::server
