#include "report/frag/frag_report.h"

#include <algorithm>

namespace tidegauge::report {
namespace {

using analysis::FragmentationSample;

FitRow rowOf(const analysis::FreeBlocks& free, const analysis::FreeList& list) {
  return {.key = list.key,
          .free_bytes = list.bytes,
          .largest_request_bytes = analysis::largestRequest(free.rules, list)};
}

// How many requests fit into the block. A block above the split limit is never split, and without
// the setting no block of an expandable segment is used.
uint64_t timesIn(const analysis::AllocatorRules& rules, uint64_t rounded_bytes,
                 const analysis::FreeBlock& block) {
  if (block.expandable && !rules.expandable) return 0;
  if (!rules.allows(rounded_bytes, block.size_bytes)) return 0;
  return rounded_bytes >= rules.max_split_bytes ? 1 : block.size_bytes / rounded_bytes;
}

void sortByFree(std::vector<FitRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const FitRow& x, const FitRow& y) { return x.free_bytes > y.free_bytes; });
}

}  // namespace

const analysis::LayoutScore& scoreOf(const FragmentationSample& sample, Arena arena) {
  return arena == Arena::kReserved ? sample.reserved : sample.address;
}

std::string_view name(Arena arena) { return arena == Arena::kReserved ? "reserved" : "address"; }

bool FragReport::served() const {
  return std::any_of(fits.begin(), fits.end(), [&](const FitRow& row) {
    return row.key.pool == series.pool && row.block_bytes.has_value();
  });
}

std::vector<FitRow> fitRows(const analysis::FreeBlocks& free, uint64_t request_bytes) {
  std::vector<FitRow> rows;
  uint64_t rounded = free.rules.roundedBytes(request_bytes);
  bool small = free.rules.isSmall(rounded);
  for (const analysis::FreeList& list : free.lists) {
    if (list.key.small != small) continue;
    FitRow row = rowOf(free, list);
    if (const analysis::FreeBlock* block = analysis::fit(free.rules, list, request_bytes)) {
      row.block_bytes = block->size_bytes;
      row.address = block->address;
      for (const analysis::FreeBlock& hole : list.blocks) {
        row.times += timesIn(free.rules, rounded, hole);
      }
    } else {
      row.driver_bytes = analysis::driverBytes(free, request_bytes, list.key.pool, list.key.stream);
    }
    row.stranded_bytes = row.free_bytes - row.times * rounded;
    rows.push_back(row);
  }
  sortByFree(rows);
  return rows;
}

analysis::Forecast forecastOf(const model::Device& device,
                              const analysis::FragmentationSeries& slices, Arena arena) {
  if (analysis::allocatorOf(device) == analysis::AllocatorKind::kDriver) return {};
  std::vector<analysis::ForecastSample> history;
  for (const FragmentationSample& sample : slices.samples) {
    const analysis::LayoutScore& score = scoreOf(sample, arena);
    history.push_back({analysis::featuresOf(score), score.score});
  }
  return analysis::forecast(history);
}

analysis::Step stepsApart(const analysis::FragmentationSeries& slices) {
  size_t count = slices.samples.size();
  return count < 2 ? 0 : slices.samples[count - 1].step - slices.samples[count - 2].step;
}

FragReport gatherFrag(const analysis::AnalysedTrace& analysed, const Chosen& chosen,
                      const FragOptions& options) {
  const analysis::DeviceAnalysis& device = *chosen.device;
  FragReport report;
  report.device = &device;
  report.range = chosen.range;
  report.arena = options.arena;
  analysis::SeriesOptions asked{.samples = options.samples, .layout = options.layout};
  if (chosen.range) {
    asked.first = chosen.range->first;
    asked.last = chosen.range->last;
  }
  report.series = analysis::fragmentationSeries(analysed, device, asked);
  analysis::Step last = report.last().step;
  report.now = analysis::fragmentationAt(analysed, device, last,
                                         {.request_bytes = report.series.request_bytes,
                                          .pool = report.series.pool,
                                          .layout = options.layout});
  report.total_bytes = options.capacity_bytes;
  report.wall = analysis::wallOf(analysed, device, options.capacity_bytes);
  asked.samples = kForecastSlices;
  const analysis::FragmentationSeries slices =
      options.samples == kForecastSlices ? report.series
                                         : analysis::fragmentationSeries(analysed, device, asked);
  report.forecast = forecastOf(device.device, slices, options.arena);
  report.forecast_steps_apart = stepsApart(slices);
  if (report.allocator() == analysis::AllocatorKind::kDriver)
    report.driver_free = analysis::driverFreeAt(analysed, device, last);
  analysis::SegmentedLayout layout(
      analysis::blocksAt(analysed.trace, device.device, device.live, last));
  report.pinned = analysis::pinnedBy(analysed.trace, layout);
  report.request_bytes = options.request_bytes;
  if (!report.rulesKnown()) return report;
  analysis::FreeBlocks free = analysis::freeBlocks(analysed.trace, layout);
  for (const analysis::FreeList& list : free.lists) report.lists.push_back(rowOf(free, list));
  sortByFree(report.lists);
  if (report.series.request_bytes > 0) {
    report.typical_fits = fitRows(free, report.series.request_bytes);
  }
  if (options.request_bytes) {
    report.rounded_bytes = free.rules.roundedBytes(*options.request_bytes);
    report.fits = fitRows(free, *options.request_bytes);
  }
  return report;
}

}  // namespace tidegauge::report
