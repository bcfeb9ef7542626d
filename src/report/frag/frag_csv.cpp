#include <fmt/format.h>

#include "base/csv.h"
#include "report/frag/frag_report.h"

namespace tidegauge::report {
namespace {

// The shortest text that parses to the same number; empty fields without an allocator.
std::string scoreText(const FragReport& report, const analysis::LayoutScore& score) {
  std::string text(1 + analysis::kFeatureNames.size(), ',');
  if (!report.hasScore()) return text;
  text = fmt::format(",{}", score.score);
  for (double feature : analysis::featuresOf(score)) text += fmt::format(",{}", feature);
  return text;
}

std::string scoreHead(std::string_view arena) {
  std::string text = fmt::format(",{}_score", arena);
  for (std::string_view feature : analysis::kFeatureNames) {
    text += fmt::format(",{}_{}", arena, feature);
  }
  return text;
}

}  // namespace

std::string fragCsvHead() {
  return "device,step,time_us,reserved_bytes,active_bytes,requested_bytes,segments_bytes,"
         "covered_bytes,blocks,waste_bytes,free_bytes,holes,largest_hole_bytes,scattered_bytes,"
         "external,external_by_segment,pinned_bytes,pinned_segments,releasable_bytes,"
         "stranded_bytes,outside_blocks" +
         scoreHead("reserved") + scoreHead("address") + ",held_in_pools_bytes" + base::kCsvLineEnd;
}

std::string fragCsv(const FragReport& report) {
  std::string text;
  for (const analysis::FragmentationSample& sample : report.series.samples) {
    const analysis::FragmentationSums& sums = sample.sums;
    const analysis::FreeSums& free = sums.free;
    int64_t time_us = report.device->time.timeOf(sample.step);
    text += fmt::format("{},{},{},{},{},{},", report.device->device.ordinal, sample.step,
                        time_us == model::kNoTime ? "" : fmt::format("{}", time_us),
                        sample.totals.reserved_bytes, sample.totals.active_bytes,
                        sample.totals.requested_bytes);
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", sums.reserved_bytes,
                        sums.covered_bytes, sums.blocks, sums.waste_bytes, free.bytes, free.holes,
                        free.largest_bytes, free.scatteredBytes(), free.external(),
                        free.externalBySegment(), free.pinned_bytes, free.pinned_segments,
                        free.releasable_bytes, free.stranded_bytes, sample.outside_blocks);
    text += scoreText(report, sample.reserved) + scoreText(report, sample.address) +
            fmt::format(",{}", free.held_in_pools_bytes) + base::kCsvLineEnd;
  }
  return text;
}

}  // namespace tidegauge::report
