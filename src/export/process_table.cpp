#include "export/process_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/sizes.h"
#include "export/recording_report.h"
#include "export/text_table.h"
#include "model/recorded_work.h"

namespace tidegauge::exporting {
namespace {

using analysis::AnalysedTrace;
using base::humanBytes;
using base::withCommas;

void addTo(uint64_t& sum, int64_t more) {
  if (more > 0 && __builtin_add_overflow(sum, static_cast<uint64_t>(more), &sum)) sum = UINT64_MAX;
}

ProcessSums sumsOf(const AnalysedTrace& analysed, size_t index) {
  ProcessSums sums;
  sums.trace = index;
  for (const auto& device : analysed.devices) {
    if (device->device.kind != model::DeviceKind::kGpu) continue;
    sums.peak_bytes += device->totals.peakReserved().bytes;
    sums.live_bytes += device->totals.last().reserved_bytes;
    sums.at_least |= model::isAtLeast(analysed.trace, device->device.ordinal);
  }
  if (!analysed.trace.work) return sums;
  const model::RecordedWork& work = *analysed.trace.work;
  for (int64_t count : work.launches.count) addTo(sums.launches, count);
  for (int64_t bytes : work.copies.size_bytes) addTo(sums.copied_bytes, bytes);
  for (uint64_t count : work.refused.count) sums.refused += count;
  return sums;
}

std::vector<std::string> numbersOf(const ProcessSums& sums) {
  std::string mark = sums.at_least ? "≥ " : "";
  return {mark + base::sizeOrZero(sums.peak_bytes), mark + base::sizeOrZero(sums.live_bytes),
          withCommas(sums.launches), base::sizeOrZero(sums.copied_bytes), withCommas(sums.refused)};
}

// "4711 python, exit 0"
std::string nameOf(const AnalysedTrace& analysed) {
  std::string_view source = analysed.trace.source.name;
  std::string name(source.substr(source.find_last_of('/') + 1));
  if (name.starts_with("pid ")) name.erase(0, 4);
  std::string ending = shortEnding(analysed);
  return ending.empty() ? name : name + ", " + ending;
}

// Since when, and for how long; where that is not known: nothing.
std::string recordedFor(const model::RecordedRun& run) {
  if (!run.began_ns) return {};
  std::string from = base::utcTime(*run.began_ns);
  if (!run.ended_ns) return fmt::format("recorded from {} on", from);
  double seconds = (static_cast<double>(*run.ended_ns) - static_cast<double>(*run.began_ns)) / 1e9;
  return fmt::format("recorded for {:.{}f} s, from {}", seconds, seconds < 10 ? 3 : 1, from);
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
  if (!traces.empty() && traces.front()->trace.work && traces.front()->trace.work->run)
    page.paragraph(recordedFor(*traces.front()->trace.work->run));
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
    rest.at_least |= all[i].at_least;
  }
  if (all.size() > rows) {
    std::vector<std::string> numbers = numbersOf(rest);
    numbers[0] = "≤ " + base::sizeOrZero(rest.peak_bytes);
    table.push_back({numbers, fmt::format("{} more", withCommas(all.size() - rows))});
  }
  printTable(page, table);
  return page.take();
}

}  // namespace tidegauge::exporting
