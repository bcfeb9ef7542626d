#include "analysis/growth/growth.h"

#include <algorithm>
#include <optional>

#include "analysis/growth/describe.h"
#include "analysis/growth/floor_blocks.h"
#include "analysis/growth/floors.h"
#include "analysis/growth/late_growth.h"

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
                                     const std::vector<bool>& is_found, const FloorBlocks* blocks) {
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
  LateChecks checks(analysed, device, points, std::move(candidates), blocks);
  std::vector<GrowingStack> late;
  for (size_t i = 0; i < bent.size(); ++i) {
    if (checks.isGrowth(i)) late.push_back(std::move(bent[i]));
  }
  return late;
}

double turnoverOf(const AnalysedTrace& analysed, const DeviceAnalysis& device, Step from,
                  const FloorBlocks* blocks) {
  auto [begin, end] = device.live.bornIn(from, device.device.steps());
  auto allocated =
      static_cast<double>(allocatedBytes(analysed.trace.allocations, begin, end, blocks));
  Span span = device.totals.span(from, device.clean_up_step);
  return allocated / std::max(1.0, static_cast<double>(span.active_max - span.active_min));
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
  std::shared_ptr<const FloorBlocks> blocks = followedBlocks(analysed.trace, device);
  Floors floors(analysed.trace, device, points, device.clean_up_step, blocks.get());
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
  std::shared_ptr<const FloorBlocks> blocks = followedBlocks(analysed.trace, device);
  if (points.basis == SamplePoints::Basis::kEvents) {
    growth.turnover = turnoverOf(analysed, device, points.steps[points.firstWarm()], blocks.get());
    if (growth.turnover < kMinTurnover) {
      growth.verdict = Growth::Verdict::kTooLittleTurnover;
      return growth;
    }
  }
  growth.verdict = Growth::Verdict::kReported;
  Floors floors(analysed.trace, device, points.steps, points.end, blocks.get());
  std::vector<bool> is_found(floors.size());
  for (size_t stack = 0; stack < floors.size(); ++stack) {
    std::optional<GrowingStack> found = testFloor(floors.of(stack), points);
    if (!found) continue;
    bool known = stack < analysed.trace.stacks.size();
    found->stack = known ? StackId(static_cast<uint32_t>(stack)) : StackId();
    is_found[stack] = true;
    growth.stacks.push_back(std::move(*found));
  }
  for (GrowingStack& late : lateStacks(analysed, device, points, floors, is_found, blocks.get()))
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
