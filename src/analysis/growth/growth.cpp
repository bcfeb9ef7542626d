#include "analysis/growth/growth.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <optional>

#include "analysis/growth/late_growth.h"
#include "analysis/labels/allocating_stack.h"
#include "model/columns/fetch.h"

namespace tidegauge::analysis {
namespace {

constexpr size_t kMinWarmPoints = 6;     // the fewest that allow p < 0.01
constexpr size_t kMinCoarsePoints = 12;  // including warm-up
constexpr size_t kMaxLate = 1000;        // stacks of a hostile file

// Whether the event of that step frees the row.
bool isFreedBy(const model::Trace& trace, const model::Device& device, Step step, uint64_t row) {
  uint64_t event = device.event_begin + step;
  return model::kFrees.has(trace.events.action[event]) && trace.events.subject[event] == row;
}

// Rows that end before step `end`, without an event that says so: by step.
std::vector<std::pair<Step, uint32_t>> silentDeaths(const model::Trace& trace,
                                                    const model::Device& device, Step end) {
  const model::Allocations& a = trace.allocations;
  std::vector<std::pair<Step, uint32_t>> deaths;
  for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
    if (a.has(row, model::kFreeCompletedSeen)) continue;
    Step last = a.last_step[row];
    if (a.first_step[row] < last && last < end && !isFreedBy(trace, device, last, row))
      deaths.emplace_back(last, static_cast<uint32_t>(row));
  }
  std::sort(deaths.begin(), deaths.end());
  return deaths;
}

// The floor of a stack, from the last point back: only where it is below that of the point after.
struct Floor {
  struct Change {
    uint32_t point;
    uint64_t bytes;
  };
  std::vector<Change> changes;  // points descend

  std::vector<double> dense(size_t points) const {
    std::vector<double> floor(points, 0.0);
    size_t next = 0;
    uint64_t bytes = 0;
    for (size_t i = points; i-- > 0;) {
      if (next < changes.size() && changes[next].point == i) bytes = changes[next++].bytes;
      floor[i] = static_cast<double>(bytes);
    }
    return floor;
  }
};

// Walks backwards through the recording and keeps, per stack, the outstanding bytes and their least
// so far.
class Floors {
 public:
  Floors(const model::Trace& trace, const model::Device& device, const std::vector<Step>& points,
         Step end)
      : trace_(trace),
        device_(device),
        points_(points),
        end_(end),
        floors_(trace.stacks.size() + 1),
        states_(floors_.size()),
        is_touched_(floors_.size()) {
    walk();
  }
  size_t size() const { return floors_.size(); }
  const Floor& of(size_t stack) const { return floors_[stack]; }

 private:
  // The figures of a stack stand together, because a walk comes to stacks in a random order, and
  // those that few events need stand apart.
  struct alignas(16) State {
    uint64_t out = 0;
    uint64_t least = 0;
  };

  size_t indexOf(uint64_t row) const {
    StackId stack = allocatingStack(trace_.allocations, row);
    return stack.valid() ? stack.index() : states_.size() - 1;
  }
  void touch(size_t stack) {
    if (!is_touched_[stack]) touched_.push_back(static_cast<uint32_t>(stack));
    is_touched_[stack] = true;
  }
  void writePoint(size_t point) {
    for (uint32_t stack : touched_) {
      is_touched_[stack] = false;
      auto& changes = floors_[stack].changes;
      uint64_t written = changes.empty() ? 0 : changes.back().bytes;
      uint64_t least = states_[stack].least;
      if (written != least) changes.push_back({static_cast<uint32_t>(point), least});
    }
    touched_.clear();
  }

  void walk() {
    const model::Allocations& a = trace_.allocations;
    for (uint64_t row = device_.allocation_begin; row < device_.allocation_end; ++row) {
      if (a.last_step[row] < end_ || a.first_step[row] >= a.last_step[row]) continue;
      states_[indexOf(row)].out += a.block_bytes[row];
    }
    for (size_t stack = 0; stack < states_.size(); ++stack) {
      states_[stack].least = states_[stack].out;
      if (states_[stack].out > 0) touch(stack);
    }
    std::vector<std::pair<Step, uint32_t>> silent = silentDeaths(trace_, device_, end_);
    uint64_t born = device_.allocation_end;  // rows before this one are still to be undone
    size_t point = points_.size();
    for (Step step = end_; step-- > 0;) {
      if (point > 0 && points_[point - 1] == step) writePoint(--point);
      if (point == 0) break;
      fetchBefore(step);
      // The state before this step. Deaths first: undone, they only add. Then a new least can only
      // follow an undone birth, and of several in one step the last has the least.
      undoEvent(step);
      for (; !silent.empty() && silent.back().first == step; silent.pop_back())
        undoDeath(silent.back().second);
      for (; born > device_.allocation_begin && a.first_step[born - 1] >= step; --born)
        undoBirth(born - 1);
    }
  }

  // Rows and stacks are at random places: they are fetched some events ahead, also those that need
  // no fetch, since a branch could not be predicted.
  void fetchBefore(Step step) const {
    constexpr Step kRowAhead = 96, kStackAhead = 32;
    if (step < kRowAhead || device_.allocation_begin == device_.allocation_end) return;
    const model::Allocations& a = trace_.allocations;
    const uint32_t* subject = trace_.events.subject.data() + device_.event_begin + step;
    ptrdiff_t row_ahead = -ptrdiff_t{kRowAhead}, stack_ahead = -ptrdiff_t{kStackAhead};
    uint64_t row = subject[row_ahead];
    row = row < device_.allocation_end ? row : device_.allocation_begin;
    model::fetch(&a.stack[row]);
    model::fetch(&a.block_bytes[row]);
    model::fetch(&a.flags[row]);
    row = subject[stack_ahead];
    row = row < device_.allocation_end ? row : device_.allocation_begin;
    model::fetch(&states_[indexOf(row)]);
  }

  void undoEvent(Step step) {
    uint64_t event = device_.event_begin + step;
    model::Action action = trace_.events.action[event];
    uint32_t row = trace_.events.subject[event];
    if (!model::kFrees.has(action) || row == UINT32_MAX) return;
    // A completed free is the end of its block; its beginning is before it if an event shows it.
    const model::Allocations& a = trace_.allocations;
    constexpr uint8_t kBothEnds = model::kAllocSeen | model::kFreeCompletedSeen;
    bool is_end =
        action == model::Action::kFreeCompleted && (a.flags[row] & kBothEnds) == kBothEnds;
    // Between a request and its completion a block is there.
    if (action == model::Action::kFreeRequested && step + 1 < device_.steps() &&
        trace_.events.subject[event + 1] == row &&
        trace_.events.action[event + 1] == model::Action::kFreeCompleted)
      return;
    if (is_end || (a.last_step[row] == step && a.first_step[row] < step)) undoDeath(row);
  }

  void undoDeath(uint32_t row) { states_[indexOf(row)].out += trace_.allocations.block_bytes[row]; }

  void undoBirth(uint64_t row) {
    const model::Allocations& a = trace_.allocations;
    if (a.first_step[row] >= a.last_step[row]) return;
    size_t stack = indexOf(row);
    State& state = states_[stack];
    state.out -= a.block_bytes[row];
    if (state.out >= state.least) return;
    state.least = state.out;
    touch(stack);
  }

  const model::Trace& trace_;
  const model::Device& device_;
  const std::vector<Step>& points_;
  Step end_;  // the states before this step
  std::vector<Floor> floors_;
  std::vector<State> states_;
  std::vector<bool> is_touched_;   // since the last point
  std::vector<uint32_t> touched_;  // since the last point
};

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
  for (uint64_t row = begin; row < end; ++row) {
    if (a.has(row, model::kAllocSeen)) allocated += static_cast<double>(a.block_bytes[row]);
  }
  Span span = device.totals.span(from, device.clean_up_step);
  return allocated / std::max(1.0, static_cast<double>(span.active_max - span.active_min));
}

// The outstanding bytes at the points and at the end, and the kind of growth.
void describe(const AnalysedTrace& analysed, const DeviceAnalysis& device, Growth& growth) {
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
