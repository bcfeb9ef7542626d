#include "view/timeline/legend.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>

#include "base/format.h"
#include "view/timeline/slots.h"

namespace tidegauge::view {
namespace {

using analysis::AnalysedTrace;

constexpr uint64_t kUnknownKey = UINT64_MAX;

uint8_t hashedSlot(uint64_t id) { return static_cast<uint8_t>(1 + id % 8); }

// Sizes are grouped by powers of two, ages by sevenths of the logarithm of the recording's length;
// the page colours quads by the same rules.
constexpr int kAgeClasses = 7;

uint64_t ageClass(Step age, Step steps) {
  double share = std::log2(1.0 + age) / std::max(1.0, std::log2(1.0 + steps));
  return static_cast<uint64_t>(
      std::clamp(static_cast<int>(std::floor(share * kAgeClasses)), 0, kAgeClasses - 1));
}

std::string ageLabel(uint64_t age_class, Step steps) {
  double whole = std::max(1.0, std::log2(1.0 + steps));
  auto edge = [&](uint64_t i) {
    double least = std::exp2(whole * static_cast<double>(i) / kAgeClasses) - 1;
    return base::withCommas(static_cast<uint64_t>(std::ceil(least)));
  };
  if (age_class == 0) return fmt::format("younger than {} steps", edge(1));
  if (age_class == kAgeClasses - 1) return fmt::format("{} steps and older", edge(age_class));
  return fmt::format("{} to {} steps", edge(age_class), edge(age_class + 1));
}

uint64_t sizeClass(uint64_t bytes) {
  return static_cast<uint64_t>(std::bit_width(std::max<uint64_t>(bytes, 1)) - 1);
}

std::string sizeLabel(uint64_t size_class) {
  std::string least = base::humanBytes(uint64_t{1} << size_class);
  if (size_class == 63) return fmt::format("{} and more", least);
  return fmt::format("{} to {}", least, base::humanBytes(uint64_t{1} << (size_class + 1)));
}

// Groups rows by a number, and describes each number.
class Grouping {
 public:
  Grouping(const AnalysedTrace& analysed, Step steps, Step step, LegendBy by)
      : analysed_(analysed), a_(analysed.trace.allocations), steps_(steps), step_(step), by_(by) {}

  uint64_t keyOf(uint32_t row) const {
    switch (by_) {
      case LegendBy::kStack:
        return stackSlot(analysed_, row) == kSlotUnknown ? kUnknownKey : a_.stack[row].value;
      case LegendBy::kCategory:
        return categorySlot(analysed_, row);
      case LegendBy::kStream:
        return a_.stream[row].value;
      case LegendBy::kPool:
        return a_.pool[row].valid() ? a_.pool[row].value : kUnknownKey;
      case LegendBy::kSize:
        return sizeClass(a_.block_bytes[row]);
      case LegendBy::kAge:
        return ageClass(step_ - std::min(step_, a_.first_step[row]), steps_);
      case LegendBy::kProvenance:
        return static_cast<uint64_t>(a_.provenance[row]);
    }
    return kUnknownKey;
  }

  LegendRow describe(uint64_t key) const {
    LegendRow row;
    row.key = key == kUnknownKey ? "unknown" : std::to_string(key);
    row.slot = kSlotUnknown;
    switch (by_) {
      case LegendBy::kStack:
        describeStack(key, row);
        break;
      case LegendBy::kCategory:
        row.slot = static_cast<uint8_t>(key);
        row.label = categoryName(row.slot);
        break;
      case LegendBy::kStream:
        row.label = key == 0 ? "default stream" : fmt::format("stream {}", key);
        row.slot = hashedSlot(key);
        break;
      case LegendBy::kPool:
        describePool(key, row);
        break;
      case LegendBy::kSize:
        row.label = sizeLabel(key);
        row.slot = kSlotOther;
        break;
      case LegendBy::kAge:
        row.label = ageLabel(key, steps_);
        row.slot = kSlotOther;
        break;
      case LegendBy::kProvenance:
        describeProvenance(static_cast<model::Provenance>(key), row);
        break;
    }
    return row;
  }

 private:
  void describeStack(uint64_t key, LegendRow& row) const {
    row.label = "no stack of the allocation recorded";
    if (key == kUnknownKey) return;
    model::StackId stack(static_cast<uint32_t>(key));
    row.label = analysed_.labels.label(stack);
    row.caller = analysed_.names.caller(stack);
    row.slot = analysed_.labels.colourSlot(stack);
  }

  void describePool(uint64_t key, LegendRow& row) const {
    row.label = "unknown pool";
    if (key == kUnknownKey) return;
    const model::Pool& pool = analysed_.trace.pools[key];
    bool is_default = pool.first == 0 && pool.second == 0;
    row.label = is_default ? "default pool" : fmt::format("pool ({}, {})", pool.first, pool.second);
    row.slot = hashedSlot(key);
  }

  static void describeProvenance(model::Provenance provenance, LegendRow& row) {
    constexpr const char* kLabels[] = {"traced", "older than the recording", "lost",
                                       "known from the final state only"};
    row.label = kLabels[static_cast<size_t>(provenance)];
    if (provenance == model::Provenance::kTraced) row.slot = 2;
  }

  const AnalysedTrace& analysed_;
  const model::Allocations& a_;
  Step steps_;
  Step step_;
  LegendBy by_;
};

struct Group {
  uint64_t key = 0;
  uint64_t bytes = 0;
  uint64_t blocks = 0;
};

}  // namespace

std::optional<LegendBy> legendByName(std::string_view name) {
  constexpr std::string_view kNames[] = {"stack", "category", "stream",    "pool",
                                         "size",  "age",      "provenance"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<LegendBy>(i);
  }
  return std::nullopt;
}

Legend legendAt(const AnalysedTrace& analysed, const analysis::DeviceAnalysis& device, Step step,
                LegendBy by) {
  Grouping grouping(analysed, device.totals.steps(), step, by);
  boost::unordered_flat_map<uint64_t, size_t> index_of;
  std::vector<Group> groups;
  Legend legend;
  for (uint32_t row : device.live.liveAt(step)) {
    uint64_t key = grouping.keyOf(row);
    auto [found, fresh] = index_of.try_emplace(key, groups.size());
    if (fresh) groups.push_back({.key = key});
    uint64_t bytes = analysed.trace.allocations.block_bytes[row];
    groups[found->second].bytes += bytes;
    groups[found->second].blocks++;
    legend.total_bytes += bytes;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& x, const Group& y) { return x.bytes > y.bytes; });
  LegendRow other{.key = "other", .slot = kSlotOther, .label = "other"};
  for (size_t i = 0; i < groups.size(); ++i) {
    LegendRow row = i < kMaxLegendRows ? grouping.describe(groups[i].key) : LegendRow();
    LegendRow& into = i < kMaxLegendRows ? legend.rows.emplace_back(std::move(row)) : other;
    into.bytes += groups[i].bytes;
    into.blocks += groups[i].blocks;
  }
  if (other.blocks > 0) legend.rows.push_back(std::move(other));
  return legend;
}

}  // namespace tidegauge::view
