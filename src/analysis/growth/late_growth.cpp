#include "analysis/growth/late_growth.h"

#include <algorithm>

#include "analysis/growth/growth.h"
#include "analysis/labels/allocating_stack.h"

namespace tidegauge::analysis {
namespace {

constexpr double kExplained = 0.9;       // of the variance, by the bent line
constexpr double kMostBetween = 0.1;     // of the growth, between that point and the change
constexpr double kMostBefore = 0.2;      // of the growth, before the change
constexpr double kHalvesAlike = 3;       // one rises at most this many times as fast as the other
constexpr double kStillRises = 0.5;      // of the mean, in the last quarter
constexpr double kMostHeldBefore = 0.1;  // of the growth
constexpr double kSamePhase = 0.5;       // of the allocations of other stacks

constexpr size_t kNone = SIZE_MAX;
constexpr uint32_t kNotYet = UINT32_MAX;

struct Fit {
  size_t change = 0;
  double explained = 0;
};

// The change point with the least squares. For each, y is regressed on max(0, point − change).
Fit bestFit(const std::vector<double>& y, size_t first) {
  auto count = static_cast<double>(y.size() - first);
  double sum = 0;
  double sum_of_squares = 0;
  double base = y[first];  // subtracted, so that squares keep their digits
  for (size_t i = first; i < y.size(); ++i) {
    sum += y[i] - base;
    sum_of_squares += (y[i] - base) * (y[i] - base);
  }
  double total = sum_of_squares - sum * sum / count;
  Fit best;
  // From the last point back: the sums over the later points i of y, and of (i − change) · y.
  double later = 0;
  double product = 0;
  for (size_t change = y.size() - 1; change-- > first;) {
    later += y[change + 1] - base;
    product += later;
    auto n = static_cast<double>(y.size() - 1 - change);
    double t_sum = n * (n + 1) / 2;
    double t_squares = n * (n + 1) * (2 * n + 1) / 6;
    double covariance = product - t_sum * sum / count;
    double variance = t_squares - t_sum * t_sum / count;
    if (change + kMinLatePoints > y.size() || variance <= 0 || covariance <= 0 || total <= 0)
      continue;
    double explained = covariance * covariance / variance / total;
    if (explained > best.explained) best = {change, explained};
  }
  return best;
}

// The part from `change` on, at every stride-th point.
std::optional<BentLine> risingPart(const std::vector<double>& floor, size_t change, size_t stride) {
  std::vector<double> x;
  std::vector<double> y;
  for (size_t i = change; i < floor.size(); i += stride) {
    x.push_back(static_cast<double>(i));
    y.push_back(floor[i]);
  }
  if (y.size() < kMinLatePoints) return std::nullopt;
  BentLine line{.change = change};
  size_t rises = 0;
  for (size_t i = 1; i < y.size(); ++i) rises += y[i] > y[i - 1];
  line.rises = static_cast<double>(rises) / static_cast<double>(y.size() - 1);
  line.p = mannKendall(y).p;
  if (line.rises < kGrowthRises || line.p >= kLateP) return std::nullopt;
  size_t middle = y.size() / 2;
  double early = (y[middle] - y[0]) / static_cast<double>(middle);
  double late = (y.back() - y[middle]) / static_cast<double>(y.size() - 1 - middle);
  if (early > kHalvesAlike * late || late > kHalvesAlike * early) return std::nullopt;
  size_t last = std::max<size_t>(2, y.size() / 4);
  double at_end = (y.back() - y[y.size() - 1 - last]) / static_cast<double>(last);
  double mean = (y.back() - y[0]) / static_cast<double>(y.size() - 1);
  if (at_end < kStillRises * mean) return std::nullopt;
  Slope slope = theilSen(x, y);
  if (slope.slope <= 0) return std::nullopt;
  line.slope = slope.slope;
  line.low = slope.low;
  line.high = slope.high;
  return line;
}

// Least squares may place the change some leaks after the first one.
size_t lastLevelPoint(const std::vector<double>& floor, size_t first, size_t change) {
  size_t last = first;
  for (size_t i = first; i <= change; ++i) {
    if (floor[i] <= floor[first]) last = i;
  }
  double between = floor[change] - floor[last];
  return between <= kMostBetween * (floor.back() - floor[first]) ? last : change;
}

}  // namespace

std::optional<BentLine> bentLineOf(const std::vector<double>& floor, size_t first) {
  if (floor.size() < first + kMinLatePoints || floor.back() <= floor[first]) return std::nullopt;
  Fit fit = bestFit(floor, first);
  if (fit.explained < kExplained) return std::nullopt;
  double before = floor[fit.change] - floor[first];
  if (before > kMostBefore * (floor.back() - floor[first])) return std::nullopt;
  for (size_t stride = 1; (floor.size() - fit.change) / stride >= kMinLatePoints; stride *= 2) {
    if (auto line = risingPart(floor, fit.change, stride)) {
      line->level = lastLevelPoint(floor, first, fit.change);
      return line;
    }
  }
  return std::nullopt;
}

LateChecks::LateChecks(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                       const SamplePoints& points, std::vector<Candidate> candidates,
                       const FloorBlocks* blocks)
    : analysed_(analysed),
      device_(device),
      points_(points),
      candidates_(std::move(candidates)),
      blocks_(blocks),
      own_(candidates_.size()),
      candidate_of_(analysed.trace.stacks.size() + 1, kNone),
      first_interval_(candidate_of_.size(), kNotYet) {
  for (size_t i = 0; i < candidates_.size(); ++i) candidate_of_[indexOf(candidates_[i].stack)] = i;
  countAllocations();
  holdings();
}

size_t LateChecks::indexOf(StackId stack) const {
  return stack.valid() ? stack.index() : candidate_of_.size() - 1;
}

size_t LateChecks::pointAt(Step step) const {
  return static_cast<size_t>(std::lower_bound(points_.steps.begin(), points_.steps.end(), step) -
                             points_.steps.begin());
}

size_t LateChecks::lastKnown(const Candidate& it) const {
  size_t margin = std::max<size_t>(2, (points_.size() - it.change) / 4);
  return it.change - std::min(it.change, margin);
}

void LateChecks::count(const Births& births) {
  size_t stack = indexOf(births.stack);
  uint32_t& first = first_interval_[stack];
  if (first == kNotYet) first = static_cast<uint32_t>(births.interval);
  allocations_[births.interval][first] += births.count;
  if (candidate_of_[stack] == kNone) return;
  const Candidate& candidate = candidates_[candidate_of_[stack]];
  Own& own = own_[candidate_of_[stack]];
  if (births.interval > candidate.change) own.allocations += births.count;
  own.is_known |= births.interval <= lastKnown(candidate);
}

// Rows ascend by their allocation.
void LateChecks::countRows(uint64_t begin, uint64_t end) {
  const model::Allocations& a = analysed_.trace.allocations;
  size_t interval = begin < end ? pointAt(a.first_step[begin]) : 0;
  for (uint64_t row = begin; row < end; ++row) {
    if (!a.has(row, model::kAllocSeen)) continue;
    Step first = a.first_step[row];
    while (interval < points_.size() && points_.steps[interval] < first) ++interval;
    allocated_bytes_[interval] += countedBytes(a.block_bytes[row]);
    count({allocatingStack(a, row), interval, 1});
  }
}

void LateChecks::countAllocations() {
  size_t intervals = points_.size() + 1;
  allocated_bytes_.assign(intervals, 0);
  allocations_.assign(intervals, std::vector<uint32_t>(intervals, 0));
  uint64_t row = device_.device.allocation_begin;
  for (size_t i = 0; blocks_ != nullptr && i < blocks_->size(); ++i) {
    const FloorBlock& block = blocks_->of(i);
    size_t interval = pointAt(block.begin);
    if (interval != pointAt(block.end - 1)) {
      countRows(row, block.row_end);
    } else {
      allocated_bytes_[interval] += static_cast<uint64_t>(block.allocated_bytes);
      for (const FloorBlock::OfStack& it : block.stacks)
        if (it.births > 0) count({it.stack, interval, it.births});
    }
    row = block.row_end;
  }
  countRows(row, device_.device.allocation_end);
}

// What each candidate held for the whole of an interval before its change.
void LateChecks::holdings() {
  const model::Allocations& a = analysed_.trace.allocations;
  std::vector<std::vector<std::pair<Step, uint64_t>>> changes(candidates_.size());
  size_t latest = 0;
  for (const Candidate& it : candidates_) latest = std::max(latest, it.change);
  auto [begin, end] = device_.live.bornIn(0, points_.steps[latest] + 1);
  for (uint64_t row = begin; row < end; ++row) {
    size_t candidate = candidate_of_[indexOf(allocatingStack(a, row))];
    if (candidate == kNone || a.first_step[row] >= a.last_step[row]) continue;
    changes[candidate].emplace_back(a.first_step[row], a.block_bytes[row]);
    changes[candidate].emplace_back(a.last_step[row], 0 - a.block_bytes[row]);
  }
  for (size_t i = 0; i < candidates_.size(); ++i) {
    auto& its = changes[i];
    std::sort(its.begin(), its.end(), [](auto& x, auto& y) { return x.first < y.first; });
    uint64_t held = 0;
    size_t next = 0;
    for (size_t point = 0; point <= candidates_[i].change; ++point) {
      uint64_t least = held;
      while (next < its.size() && its[next].first <= points_.steps[point]) {
        Step step = its[next].first;  // one event may both end and begin blocks
        for (; next < its.size() && its[next].first == step; ++next) held += its[next].second;
        least = std::min(least, held);
      }
      own_[i].most_held_bytes = std::max(own_[i].most_held_bytes, least);
    }
  }
}

bool LateChecks::isGrowth(size_t index) const {
  const Candidate& it = candidates_[index];
  const Own& own = own_[index];
  auto grown = static_cast<double>(it.grown_bytes);
  auto level = static_cast<double>(it.level_bytes);
  if (static_cast<double>(own.most_held_bytes) > level + kMostHeldBefore * grown) return false;
  uint64_t all = 0;
  uint64_t known = 0;  // from stacks that had allocated before
  double bytes = 0;
  for (size_t i = it.change + 1; i < allocations_.size(); ++i) {
    bytes += static_cast<double>(allocated_bytes_[i]);
    for (size_t first = 0; first <= i; ++first) {
      all += allocations_[i][first];
      if (first <= lastKnown(it)) known += allocations_[i][first];
    }
  }
  all -= own.allocations;
  if (own.is_known) known -= own.allocations;
  if (all == 0 || static_cast<double>(known) < kSamePhase * static_cast<double>(all)) return false;
  if (points_.basis == SamplePoints::Basis::kSteps) return true;
  Span span = device_.totals.span(points_.steps[it.change], device_.clean_up_step);
  double range = static_cast<double>(span.active_max - span.active_min);
  return bytes >= kMinTurnover * std::max(1.0, range);
}

}  // namespace tidegauge::analysis
