#include "export/page/page_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "analysis/oom/oom.h"
#include "view/timeline/columns.h"

namespace tidegauge::exporting {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;
using analysis::Step;
using nlohmann::json;

constexpr size_t kMaxPlaces = 4096;
constexpr size_t kFewestPlaces = 16;
constexpr size_t kMaxOoms = 100;
constexpr size_t kMaxPhases = 200;
constexpr uint32_t kOtherLegends = 64;  // places with the legends of the other colours
constexpr size_t kMaxCursors = 8;
constexpr size_t kBatch = 1024;
constexpr size_t kSmallestBatch = 32;
constexpr const char* kOtherColours[] = {"category", "stream", "pool", "size", "age", "provenance"};

// Where the page's cursor starts: at an out-of-memory event, else at the peak.
std::set<Step> cursorSteps(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                           const analysis::StepRange& range) {
  std::set<Step> steps = {device.totals.peakActive().step, range.first, range.last};
  for (const analysis::OomReport& oom : analysis::oomsOf(analysed, device, 0)) {
    if (steps.size() == kMaxCursors) break;
    steps.insert(oom.step);
  }
  return steps;
}

// The important steps, independent of the space. Out-of-memory events and phases outside the range
// would only take space from steps of the range.
std::set<Step> markedSteps(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                           const analysis::StepRange& range, const Holders& holders) {
  const analysis::TotalsIndex& totals = device.totals;
  std::set<Step> steps = {range.first, range.last, totals.peakActive().step,
                          totals.peakReserved().step, totals.peakRequested().step};
  if (holders.step) steps.insert(std::min(*holders.step, totals.steps() - 1));
  auto inside = [&](Step step) { return range.first <= step && step <= range.last; };
  size_t ooms = 0, phases = 0;
  for (const analysis::OomReport& oom : analysis::oomsOf(analysed, device, 0)) {
    if (inside(oom.step) && ooms++ < kMaxOoms) steps.insert(oom.step);
  }
  for (const analysis::Phase& phase : device.phases) {
    if (inside(phase.begin_step) && phases++ < kMaxPhases) steps.insert(phase.begin_step);
  }
  return steps;
}

// The steps with the highest state in `columns` equal parts of the range.
void addHighest(const DeviceAnalysis& device, const analysis::StepRange& range, uint32_t columns,
                std::set<Step>& steps) {
  view::XRange x{.axis = view::Axis::kStep,
                 .x0 = static_cast<double>(range.first),
                 .x1 = static_cast<double>(range.last) + 1,
                 .columns = columns};
  for (const view::ColumnState& column : view::columnStates(device, x)) {
    if (column.sample != view::kNoStep) steps.insert(column.sample);
  }
}

std::string legendKey(int32_t ordinal, std::string_view by, Step step) {
  return fmt::format("legend?by={}&device={}&step={}", by, ordinal, step);
}

// The key is the question, with its parameters in alphabetical order.
base::Status addAnswer(const Ask& ask, std::string key, PagePack& pack) {
  TG_ASSIGN_OR_RETURN(std::string body, ask(key));
  pack.add(std::move(key), body);
  return base::okStatus();
}

base::Result<PagePack> describe(const Ask& ask, SharedStacks& stacks, int32_t ordinal,
                                const std::set<Step>& steps, const std::set<Step>& coloured,
                                size_t most_bytes) {
  PagePack pack;
  for (Step step : steps) {
    TG_RETURN_IF_ERROR(
        stacks.add(ask, fmt::format("at?axis=step&device={}&x={}", ordinal, step), pack));
    if (pack.htmlBytes() > most_bytes) break;
  }
  pack.close();
  for (Step step : steps) {
    TG_RETURN_IF_ERROR(addAnswer(ask, legendKey(ordinal, "stack", step), pack));
    if (pack.htmlBytes() > most_bytes) break;
  }
  for (const char* by : kOtherColours) {
    for (Step step : coloured) {
      TG_RETURN_IF_ERROR(addAnswer(ask, legendKey(ordinal, by, step), pack));
    }
  }
  pack.close();
  return pack;
}

base::Result<PagePack> describeBlocks(const Ask& ask, SharedStacks& stacks,
                                      std::span<const uint32_t> rows) {
  PagePack pack;
  for (uint32_t row : rows) {
    TG_RETURN_IF_ERROR(stacks.add(ask, fmt::format("allocation?id={}", row), pack));
  }
  pack.close();
  return pack;
}

}  // namespace

base::Status SharedStacks::add(const Ask& ask, std::string key, PagePack& pack) {
  constexpr std::string_view kShared = "{\"shared\":";
  TG_ASSIGN_OR_RETURN(std::string body, ask(key + "&stacks=shared"));
  size_t at = body.find(kShared);
  uint32_t id = 0;
  const char* end = body.data() + body.size();
  bool shared = at != std::string::npos &&
                std::from_chars(body.data() + at + kShared.size(), end, id).ec == std::errc();
  if (shared && known_.insert(id).second) {
    TG_RETURN_IF_ERROR(addAnswer(ask, fmt::format("stack?id={}", id), pack));
  }
  pack.add(std::move(key), body);
  return base::okStatus();
}

Holders holdersOf(const json& overview) {
  Holders holders;
  if (!overview.is_object()) return holders;
  auto said = overview.find("holders");
  if (said == overview.end() || !said->is_object()) return holders;
  if (auto step = said->find("step"); step != said->end() && step->is_number_unsigned()) {
    holders.step = step->get<Step>();
  }
  for (const json& row : said->value("rows", json::array())) {
    if (row.contains("first_allocation_id") && row["first_allocation_id"].is_number_unsigned()) {
      holders.allocations.push_back(row["first_allocation_id"].get<uint32_t>());
    }
  }
  return holders;
}

base::Result<Places> placesOf(const Ask& ask, const AnalysedTrace& analysed,
                              const DeviceAnalysis& device, const analysis::StepRange& range,
                              const Holders& holders, SharedStacks& stacks, size_t most_bytes) {
  std::set<Step> marked = markedSteps(analysed, device, range, holders);
  for (size_t columns = kMaxPlaces;; columns /= 2) {
    bool least = columns < kFewestPlaces;
    std::set<Step> wanted = marked;
    if (least) wanted = cursorSteps(analysed, device, range);
    std::set<Step> coloured = {device.totals.peakActive().step, range.last};
    if (!least) {
      addHighest(device, range, static_cast<uint32_t>(columns), wanted);
      addHighest(device, range, std::min(kOtherLegends, static_cast<uint32_t>(columns)), coloured);
    }
    SharedStacks shared = stacks;
    TG_ASSIGN_OR_RETURN(PagePack pack,
                        describe(ask, shared, device.device.ordinal, wanted, coloured, most_bytes));
    if (pack.htmlBytes() <= most_bytes) {
      stacks = std::move(shared);
      auto first = wanted.lower_bound(range.first), end = wanted.upper_bound(range.last);
      return Places{std::move(pack), static_cast<size_t>(std::distance(first, end))};
    }
    if (least) return Places{};
  }
}

base::Result<Details> detailsOf(const Ask& ask, const AnalysedTrace& analysed,
                                const Holders& holders, std::span<const uint32_t> drawn,
                                SharedStacks& stacks, size_t most_bytes) {
  const model::Allocations& a = analysed.trace.allocations;
  std::set<uint32_t> linked(holders.allocations.begin(), holders.allocations.end());
  std::erase_if(linked, [&](uint32_t row) { return row >= a.size(); });
  std::vector<uint32_t> rows;
  for (uint32_t row : drawn) {
    if (row < a.size() && !linked.contains(row)) rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](uint32_t x, uint32_t y) { return a.block_bytes[x] > a.block_bytes[y]; });
  size_t first = linked.size();
  rows.insert(rows.begin(), linked.begin(), linked.end());

  Details details;
  size_t size = kBatch;
  for (size_t begin = 0; begin < rows.size() && size >= kSmallestBatch;) {
    size_t end = std::min(rows.size(), begin + size);
    size_t left = most_bytes - std::min(most_bytes, details.pack.htmlBytes());
    SharedStacks shared = stacks;
    TG_ASSIGN_OR_RETURN(PagePack pack,
                        describeBlocks(ask, shared, {rows.data() + begin, end - begin}));
    if (pack.htmlBytes() > left) {
      size /= 2;
      continue;
    }
    stacks = std::move(shared);
    details.pack.append(std::move(pack));
    for (; begin < end; ++begin) {
      if (std::binary_search(drawn.begin(), drawn.end(), rows[begin])) ++details.allocations;
    }
    if (end > first) details.least_bytes = a.block_bytes[rows[end - 1]];
  }
  return details;
}

base::Status addFlames(const Ask& ask, const AnalysedTrace& analysed, const DeviceAnalysis& device,
                       const analysis::StepRange& range, PagePack& pack) {
  int32_t ordinal = device.device.ordinal;
  std::string subject = fmt::format("flame?device={}&frames=all", ordinal);
  TG_RETURN_IF_ERROR(addAnswer(ask, subject + "&of=peak", pack));
  for (Step step : cursorSteps(analysed, device, range)) {
    TG_RETURN_IF_ERROR(addAnswer(ask, fmt::format("{}&of=live&step={}", subject, step), pack));
  }
  if (device.totals.steps() == 0) return base::okStatus();
  for (const char* of : {"allocated", "churn", "growth"}) {
    std::string key = fmt::format("flame?device={}&frames=all&from={}&of={}&to={}", ordinal,
                                  range.first, of, range.last);
    TG_RETURN_IF_ERROR(addAnswer(ask, std::move(key), pack));
  }
  return base::okStatus();
}

}  // namespace tidegauge::exporting
