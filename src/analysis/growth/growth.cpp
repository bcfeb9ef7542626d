#include "analysis/growth/growth.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <optional>

#include "analysis/growth/floors.h"
#include "analysis/growth/late_growth.h"
#include "analysis/labels/allocating_stack.h"

namespace tidegauge::analysis {
namespace {

constexpr size_t kMinWarmPoints = 6;     // the fewest that allow p < 0.01
constexpr size_t kMinCoarsePoints = 12;  // including warm-up
constexpr size_t kMaxLate = 1000;        // stacks of a hostile file

// The three conditions on the points first, first + stride, …
std::optional<GrowingStack> testAt(const std::vector<double>& floor, size_t first, size_t stride) {
  std::vector<double> x;
  std::vector<double> y;
  for (size_t i = first; i < floor.size(); i += stride) {
    x.push_back(static_cast<double>(i));
    y.push_back(floor[i]);
  }
  if (y.size() < kMinWarmPoints) return std::nullopt;
  size_t rises = 0;
  for (size_t i = 1; i < y.size(); ++i) rises += y[i] > y[i - 1];
  GrowingStack found;
  found.rises = static_cast<double>(rises) / static_cast<double>(y.size() - 1);
  if (found.rises < kGrowthRises) return std::nullopt;
  found.p = mannKendall(y).p;
  if (found.p >= kGrowthP) return std::nullopt;
  Slope slope = theilSen(x, y);
  if (slope.slope <= 0) return std::nullopt;
  found.bytes_per_step = slope.slope;
  found.low = slope.low;
  found.high = slope.high;
  return found;
}

std::optional<GrowingStack> testFloor(const Floor& floor, const SamplePoints& points) {
  // Even the coarsest points need this number of changes; most stacks have fewer.
  if (static_cast<double>(floor.changes.size()) < kGrowthRises * (kMinWarmPoints - 1)) {
    return std::nullopt;
  }
  std::vector<double> dense = floor.dense(points.size());
  for (size_t stride = 1; stride == 1 || points.size() / stride >= kMinCoarsePoints; stride *= 2) {
    if (auto found = testAt(dense, points.firstWarm(), stride)) {
      found->grown_bytes = static_cast<uint64_t>(dense.back() - dense[points.firstWarm()]);
      size_t last = 0;
      while (last + 1 < dense.size() && dense[last + 1] <= dense[0]) ++last;
      found->since_step = points.steps[last];
      return found;
    }
  }
  return std::nullopt;
}

// Stacks that grow only from some point on.
std::vector<GrowingStack> lateStacks(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                     const SamplePoints& points, const Floors& floors,
                                     const std::vector<bool>& is_found) {
  std::vector<GrowingStack> bent;
  std::vector<LateChecks::Candidate> candidates;
  auto few = static_cast<size_t>(kGrowthRises * (kMinLatePoints - 1));
  for (size_t stack = 0; stack < floors.size(); ++stack) {
    if (is_found[stack] || floors.of(stack).changes.size() < few) continue;
    std::vector<double> dense = floors.of(stack).dense(points.size());
    std::optional<BentLine> line = bentLineOf(dense, points.firstWarm());
    if (!line) continue;
    GrowingStack found;
    bool known = stack < analysed.trace.stacks.size();
    found.stack = known ? StackId(static_cast<uint32_t>(stack)) : StackId();
    found.bytes_per_step = line->slope;
    found.low = line->low;
    found.high = line->high;
    found.p = line->p;
    found.rises = line->rises;
    found.grown_bytes = static_cast<uint64_t>(dense.back() - dense[line->change]);
    found.since_step = points.steps[line->level];
    found.is_late = true;
    candidates.push_back(
        {found.stack, line->change, static_cast<uint64_t>(dense[line->change]), found.grown_bytes});
    bent.push_back(std::move(found));
    if (bent.size() == kMaxLate) break;
  }
  if (bent.empty()) return bent;
  LateChecks checks(analysed, device, points, std::move(candidates));
  std::vector<GrowingStack> late;
  for (size_t i = 0; i < bent.size(); ++i) {
    if (checks.isGrowth(i)) late.push_back(std::move(bent[i]));
  }
  return late;
}

double turnoverOf(const AnalysedTrace& analysed, const DeviceAnalysis& device, Step from) {
  const model::Allocations& a = analysed.trace.allocations;
  auto [begin, end] = device.live.bornIn(from, device.device.steps());
  double allocated = 0;
  constexpr uint64_t kAtOnce = 1024, kLargest = UINT64_MAX / kAtOnce;  // their sum is an integer's
  for (uint64_t row = begin, next = begin; row < end; row = next) {
    next = std::min(row + kAtOnce, end);
    uint64_t bytes = 0;
    for (uint64_t i = row; i < next; ++i)
      bytes += a.has(i, model::kAllocSeen) ? std::min(a.block_bytes[i], kLargest) : 0;
    allocated += static_cast<double>(bytes);
  }
  Span span = device.totals.span(from, device.clean_up_step);
  return allocated / std::max(1.0, static_cast<double>(span.active_max - span.active_min));
}

// The outstanding bytes at the points and at the end, and the kind of growth.
void describe(const AnalysedTrace& analysed, const DeviceAnalysis& device, Growth& growth) {
  if (growth.stacks.empty()) return;
  const model::Allocations& a = analysed.trace.allocations;
  const std::vector<Step>& points = growth.points.steps;
  boost::unordered_flat_map<uint32_t, size_t> place_of;
  for (size_t i = 0; i < growth.stacks.size(); ++i) {
    place_of[growth.stacks[i].stack.value] = i;
    growth.stacks[i].outstanding_bytes.assign(points.size() + 1, 0);  // differences until the end
  }
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint64_t> kept(growth.stacks.size());  // of these: older than the last interval
  std::vector<uint32_t> first(growth.stacks.size(), kNone);
  std::vector<uint32_t> largest(growth.stacks.size(), kNone);
  Step last_interval = points.size() < 2 ? 0 : points[points.size() - 2];
  for (uint64_t r = device.device.allocation_begin; r < device.device.allocation_end; ++r) {
    auto row = static_cast<uint32_t>(r);
    auto found = place_of.find(allocatingStack(a, row).value);
    if (found == place_of.end()) continue;
    size_t i = found->second;
    GrowingStack& stack = growth.stacks[i];
    auto pointAt = [&](Step step) {
      return static_cast<size_t>(std::lower_bound(points.begin(), points.end(), step) -
                                 points.begin());
    };
    stack.outstanding_bytes[pointAt(a.first_step[row])] += a.block_bytes[row];
    stack.outstanding_bytes[pointAt(a.last_step[row])] -= a.block_bytes[row];
    if (a.last_step[row] < growth.points.end) continue;
    stack.retained_bytes += a.block_bytes[row];
    if (a.last_step[row] < device.device.steps()) stack.given_back_bytes += a.block_bytes[row];
    stack.retained_blocks++;
    if (largest[i] == kNone || a.block_bytes[row] > a.block_bytes[largest[i]]) largest[i] = row;
    if (a.first_step[row] <= stack.since_step) continue;
    if (first[i] == kNone) first[i] = row;
    if (a.first_step[row] <= last_interval) kept[i] += a.block_bytes[row];
  }
  for (size_t i = 0; i < growth.stacks.size(); ++i) {
    GrowingStack& stack = growth.stacks[i];
    for (size_t k = 1; k < points.size(); ++k) {
      stack.outstanding_bytes[k] += stack.outstanding_bytes[k - 1];
    }
    stack.outstanding_bytes.pop_back();
    bool accumulates = first[i] != kNone && kept[i] >= stack.grown_bytes / 2;
    stack.kind = accumulates ? GrowingStack::Kind::kAccumulates : GrowingStack::Kind::kReplaced;
    stack.example_row = accumulates ? first[i] : largest[i] == kNone ? 0 : largest[i];
    if (stack.is_late && accumulates) stack.since_step = a.first_step[first[i]];
  }
}

}  // namespace

std::string_view name(GrowingStack::Kind kind) {
  return kind == GrowingStack::Kind::kAccumulates ? "accumulates" : "replaced";
}
std::string_view name(Growth::Verdict verdict) {
  constexpr std::string_view kNames[] = {"told", "too_few_points", "too_little_turnover"};
  return kNames[static_cast<size_t>(verdict)];
}

std::vector<std::vector<double>> floorsOf(const AnalysedTrace& analysed,
                                          const DeviceAnalysis& device,
                                          const std::vector<Step>& points) {
  Floors floors(analysed.trace, device.device, points, device.clean_up_step);
  std::vector<std::vector<double>> dense;
  for (size_t stack = 0; stack < floors.size(); ++stack) {
    dense.push_back(floors.of(stack).dense(points.size()));
  }
  return dense;
}

namespace {

Growth growthOf(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  Growth growth;
  growth.points = samplePointsOf(analysed, device);
  const SamplePoints& points = growth.points;
  if (points.size() < points.firstWarm() + kMinWarmPoints) return growth;
  if (points.basis == SamplePoints::Basis::kEvents) {
    growth.turnover = turnoverOf(analysed, device, points.steps[points.firstWarm()]);
    if (growth.turnover < kMinTurnover) {
      growth.verdict = Growth::Verdict::kTooLittleTurnover;
      return growth;
    }
  }
  growth.verdict = Growth::Verdict::kReported;
  Floors floors(analysed.trace, device.device, points.steps, points.end);
  std::vector<bool> is_found(floors.size());
  for (size_t stack = 0; stack < floors.size(); ++stack) {
    std::optional<GrowingStack> found = testFloor(floors.of(stack), points);
    if (!found) continue;
    bool known = stack < analysed.trace.stacks.size();
    found->stack = known ? StackId(static_cast<uint32_t>(stack)) : StackId();
    is_found[stack] = true;
    growth.stacks.push_back(std::move(*found));
  }
  for (GrowingStack& late : lateStacks(analysed, device, points, floors, is_found))
    growth.stacks.push_back(std::move(late));
  double steps_per_point = points.stepsPerPoint();
  for (GrowingStack& stack : growth.stacks) {
    stack.bytes_per_step /= steps_per_point;
    stack.low /= steps_per_point;
    stack.high /= steps_per_point;
  }
  growth.growing = growth.stacks.size();
  std::stable_sort(growth.stacks.begin(), growth.stacks.end(),
                   [](const GrowingStack& x, const GrowingStack& y) {
                     return x.bytes_per_step > y.bytes_per_step;
                   });
  if (growth.stacks.size() > kMaxGrowing) growth.stacks.resize(kMaxGrowing);
  describe(analysed, device, growth);
  return growth;
}

}  // namespace

Growth findGrowth(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  return device.growth.get([&] { return growthOf(analysed, device); });
}

}  // namespace tidegauge::analysis
