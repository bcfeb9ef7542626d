#include "export/process_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/sizes.h"
#include "export/incomplete_words.h"
#include "export/recording_report.h"
#include "export/text_table.h"
#include "model/recorded_work.h"

namespace tidegauge::exporting {
namespace {

using analysis::AnalysedTrace;
using base::humanBytes;
using base::withCommas;

constexpr std::string_view kAtLeast = "≥ ", kIncomplete = "~ ";

// Of a sum of both.
void add(std::string_view& mark, std::string_view more) {
  if (mark.empty() || more == kIncomplete) mark = more.empty() ? mark : more;
}

ProcessSums sumsOf(const AnalysedTrace& analysed, size_t index) {
  ProcessSums sums;
  sums.trace = index;
  for (const auto& device : analysed.devices) {
    if (device->device.kind != model::DeviceKind::kGpu) continue;
    sums.peak_bytes += device->totals.peakReserved().bytes;
    sums.live_bytes += device->totals.last().reserved_bytes;
    if (model::isAtLeast(analysed.trace, device->device.ordinal)) add(sums.memory_mark, kAtLeast);
  }
  if (!analysed.trace.work) return sums;
  const model::RecordedWork& work = *analysed.trace.work;
  model::Incomplete incomplete = model::incompleteOf(work);
  if (incomplete.touches(kOfMemory))
    add(sums.memory_mark, incomplete.isAtLeast(kOfMemory) ? kAtLeast : kIncomplete);
  // Counts can only be too low.
  if (incomplete.touches({model::Figures::kLaunches})) sums.launches_mark = kAtLeast;
  if (incomplete.touches({model::Figures::kCopies})) sums.copies_mark = kAtLeast;
  for (int64_t count : work.launches.count) sums.launches += static_cast<uint64_t>(count);
  for (int64_t bytes : work.copies.size_bytes) sums.copied_bytes += static_cast<uint64_t>(bytes);
  for (uint64_t count : work.refused.count) sums.refused += count;
  return sums;
}

std::vector<std::string> numbersOf(const ProcessSums& sums) {
  auto marked = [](std::string_view mark, const std::string& figure) {
    return std::string(mark) + figure;
  };
  return {marked(sums.memory_mark, base::sizeOrZero(sums.peak_bytes)),
          marked(sums.memory_mark, base::sizeOrZero(sums.live_bytes)),
          marked(sums.launches_mark, withCommas(sums.launches)),
          marked(sums.copies_mark, base::sizeOrZero(sums.copied_bytes)), withCommas(sums.refused)};
}

// "4711 python, exit 0"
std::string nameOf(const AnalysedTrace& analysed) {
  std::string_view source = analysed.trace.source.name;
  std::string name(source.substr(source.find_last_of('/') + 1));
  if (name.starts_with("pid ")) name.erase(0, 4);
  std::string ending = shortEnding(analysed);
  return ending.empty() ? name : name + ", " + ending;
}

}  // namespace

std::vector<ProcessSums> processSums(const std::vector<const AnalysedTrace*>& traces) {
  std::vector<ProcessSums> all;
  for (size_t i = 0; i < traces.size(); ++i) all.push_back(sumsOf(*traces[i], i));
  std::stable_sort(all.begin(), all.end(), [](const ProcessSums& a, const ProcessSums& b) {
    return a.peak_bytes > b.peak_bytes;
  });
  return all;
}

std::string processesText(const std::vector<const AnalysedTrace*>& traces, size_t rows,
                          size_t columns, bool colour) {
  TextPage page(columns, colour);
  page.heading(fmt::format("{} {} called for memory, launched or copied", withCommas(traces.size()),
                           traces.size() == 1 ? "process" : "processes"));
  std::vector<ProcessSums> all = processSums(traces);
  std::vector<TextRow> table = {
      {{"peak", "at the end", "launches", "copied", "refused"}, "process"}};
  ProcessSums rest;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i < rows) {
      table.push_back({numbersOf(all[i]), nameOf(*traces[all[i].trace])});
      continue;
    }
    rest.peak_bytes = std::max(rest.peak_bytes, all[i].peak_bytes);
    rest.live_bytes += all[i].live_bytes;
    rest.launches += all[i].launches;
    rest.copied_bytes += all[i].copied_bytes;
    rest.refused += all[i].refused;
    add(rest.memory_mark, all[i].memory_mark);
    add(rest.launches_mark, all[i].launches_mark);
    add(rest.copies_mark, all[i].copies_mark);
  }
  if (all.size() > rows) {
    std::vector<std::string> numbers = numbersOf(rest);
    // Each has this at most; of lower bounds no most is known.
    numbers[0] = rest.memory_mark.empty() ? "≤ " + base::sizeOrZero(rest.peak_bytes) : "";
    table.push_back({numbers, fmt::format("{} more", withCommas(all.size() - rows))});
  }
  printTable(page, table);
  bool at_least = false, incomplete = false;
  for (const ProcessSums& sums : all) {
    for (std::string_view mark : {sums.memory_mark, sums.launches_mark, sums.copies_mark}) {
      at_least |= mark == kAtLeast;
      incomplete |= mark == kIncomplete;
    }
  }
  if (at_least) page.faint("≥: at least; why is said of each process", 2, 2);
  if (incomplete)
    page.faint("~: incomplete, may be more or less; why is said of each process", 2, 2);
  return page.take();
}

}  // namespace tidegauge::exporting
