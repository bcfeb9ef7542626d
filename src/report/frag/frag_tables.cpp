#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/oom/oom_verdict.h"
#include "base/sizes.h"
#include "report/frag/frag_writer.h"
#include "report/words/text_table.h"

namespace tidegauge::report {
namespace {

using analysis::FragmentationSample;
using base::counted;
using base::humanBytes;
using base::padLeft;
using base::withCommas;

constexpr size_t kMaxFitRows = 8;

}  // namespace

void FragWriter::fits() {
  page_.blank();
  uint64_t request = *report_.request_bytes;
  page_.heading(fmt::format("Would {} fit?", exactSize(request)), 2);
  if (ofDriver()) return askedOfDriver(request);
  if (!report_.rulesKnown()) {
    page_.paragraph(
        "This is not computed, because this allocator does not follow the GPU allocator's "
        "rules.");
    return;
  }
  if (report_.rounded_bytes != request) {
    page_.bullet(fmt::format("The allocator rounds it up to a block of {}.",
                             exactSize(report_.rounded_bytes)));
  }
  std::optional<uint64_t> room = report_.wall.capacity_bytes;
  if (room && report_.rounded_bytes > *room) {
    page_.bullet(fmt::format("No, in any layout, because only {} were available to this process.",
                             humanBytes(*room)));
  }
  if (report_.fits.empty()) {
    page_.bullet(
        "No free list serves its size, so the allocator would request memory from the driver.");
  }
  for (size_t i = 0; i < std::min(report_.fits.size(), kMaxFitRows); ++i) {
    const FitRow& row = report_.fits[i];
    std::string verdict =
        row.block_bytes
            ? fmt::format("yes, in a free block of {}", humanBytes(*row.block_bytes))
            : fmt::format("no. {}. The allocator would request {} from the driver",
                          row.free_bytes == 0 ? std::string("Nothing is free")
                          : row.largest_request_bytes == 0
                              ? humanBytes(row.free_bytes) + " are free, but no request fits"
                              : fmt::format("{} are free, and the largest request that fits is {}",
                                            humanBytes(row.free_bytes),
                                            humanBytes(row.largest_request_bytes)),
                          humanBytes(row.driver_bytes));
    if (!row.block_bytes && !driver_free_.empty()) {
      verdict += fmt::format(", which had {} free", driver_free_);
    }
    page_.bullet(fmt::format("{}: {}.", listName(row.key), verdict));
  }
  if (report_.fits.size() > kMaxFitRows) {
    page_.bullet(
        fmt::format("--json prints {}.", counted(report_.fits.size() - kMaxFitRows, "more list")));
  }
}

// Nothing is kept free for it; the driver's free memory is known only as last reported.
void FragWriter::askedOfDriver(uint64_t request) {
  if (report_.device->device.kind == model::DeviceKind::kPinnedHost) {
    page_.paragraph("Unknown: the recording does not contain the amount of free host memory.");
    return;
  }
  page_.bullet(
      "The request would go to the driver, because no allocator of this program keeps free "
      "memory.");
  constexpr uint64_t kPage = analysis::kDriverPageBytes;
  uint64_t pages_bytes = (request + kPage - 1) / kPage * kPage;
  page_.bullet(fmt::format(
      "The driver allocates device memory in pages of {}, so this request takes {}, or less if "
      "it shares a page with others.",
      humanBytes(kPage), exactSize(pages_bytes)));
  if (!report_.driver_free) {
    page_.bullet(
        "Whether the driver had that much is unknown, because the recording does not contain its "
        "free memory.");
    return;
  }
  const analysis::DriverFree& free = *report_.driver_free;
  std::vector<std::string> sizes = base::inOneUnit({free.free_bytes, free.total_bytes});
  std::string since;
  if (free.taken_since_bytes != 0) {
    auto bytes = static_cast<uint64_t>(std::abs(free.taken_since_bytes));
    since = fmt::format(" Since then this program {} {}.",
                        free.taken_since_bytes > 0 ? "took" : "freed", humanBytes(bytes));
  }
  bool enough = free.leftBytes() >= pages_bytes;
  page_.bullet(fmt::format(
      "{} of {} were free when {}.{} {}.", sizes[0], sizes[1],
      free.is_answer ? "the program last asked the driver" : "the recorder last asked NVML", since,
      enough ? "That is enough, if other programs took no more"
             : "That is too little, if other programs freed nothing"));
}

void FragWriter::overTime() {
  const std::vector<FragmentationSample>& samples = report_.series.samples;
  if (samples.size() < 2) return;
  page_.blank();
  size_t rows = std::clamp<size_t>(options_.rows, 2, samples.size());
  std::string last = withCommas(samples.back().step);
  size_t step_width = std::max<size_t>(6, last.size());
  constexpr size_t kSize = 10;
  // A narrow page loses columns from the right; the score is the last.
  std::vector<std::string> names = {"reserved", "active", "free", "pinned", "largest", "stranded"};
  if (ofDriver()) names.resize(1);  // the others would be 0, or equal to it
  size_t room = options_.columns - std::min(options_.columns, 2 + step_width + 7);
  names.resize(std::min(names.size(), room / kSize));
  std::string head = "  " + padLeft("step", step_width);
  for (const std::string& title : names) head += padLeft(title, kSize);
  page_.line(ofDriver() ? head : head + padLeft("score", 7));
  for (size_t i = 0; i < rows; ++i) {
    const FragmentationSample& sample = samples[i * (samples.size() - 1) / (rows - 1)];
    const analysis::FreeSums& free = sample.sums.free;
    std::string line = "  " + padLeft(withCommas(sample.step), step_width);
    const uint64_t values[] = {
        sample.totals.reserved_bytes, sample.totals.active_bytes, free.bytes, free.pinned_bytes,
        free.largest_bytes,           free.stranded_bytes};
    for (size_t column = 0; column < names.size(); ++column) {
      line += padLeft(base::sizeOrZero(values[column]), kSize);
    }
    if (!ofDriver())
      line += padLeft(fmt::format("{:.1f}", scoreOf(sample, report_.arena).score), 7);
    page_.line(line);
  }
  if (samples.size() > rows) {
    page_.paragraph(fmt::format("The table shows {} of {} samples; --csv prints all.", rows,
                                withCommas(samples.size())));
  }
  if (!options_.words || ofDriver()) return;
  std::string words =
      "reserved: memory held from the driver; active: memory in blocks that are in use; free: "
      "the rest; pinned: free memory in segments or pages with such blocks; largest: the largest "
      "free range";
  if (uint64_t request = report_.series.request_bytes; request > 0) {
    words +=
        fmt::format("; stranded: free memory that requests of {} cannot use", humanBytes(request));
  }
  page_.faint(words, 2, 2);
}

void FragWriter::pools() {
  page_.blank();
  std::vector<TextRow> lines = {{{"segments", "reserved", "free", "pinned", "score"}, "pool"}};
  for (const analysis::PoolRow& row : report_.now.pools) {
    lines.push_back(
        {{withCommas(row.segments), base::sizeOrZero(row.sums.reserved_bytes),
          base::sizeOrZero(row.sums.free.bytes), base::sizeOrZero(row.sums.free.pinned_bytes),
          fmt::format("{:.1f}", row.reserved.score)},
         poolOf(row.pool)});
  }
  printTable(page_, lines);
  if (report_.now.pools_total > report_.now.pools.size()) {
    page_.paragraph(fmt::format("These are the largest {} of {}.", report_.now.pools.size(),
                                counted(report_.now.pools_total, "pool")));
  }
}

}  // namespace tidegauge::report
