#include "analysis/growth/floors.h"

#include <algorithm>

#include "analysis/labels/allocating_stack.h"
#include "model/columns/fetch.h"

namespace tidegauge::analysis {
namespace {

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

}  // namespace

Floors::Floors(const model::Trace& trace, const model::Device& device,
               const std::vector<Step>& points, Step end)
    : trace_(trace),
      device_(device),
      points_(points),
      end_(end),
      floors_(trace.stacks.size() + 1),
      states_(floors_.size()),
      is_touched_(floors_.size()),
      born_(device.allocation_end) {
  if (device.allocation_begin < device.allocation_end) walk();
}

inline size_t Floors::indexOf(uint64_t row) const {
  StackId stack = allocatingStack(trace_.allocations, row);
  return stack.valid() ? stack.index() : states_.size() - 1;
}

inline void Floors::touch(size_t stack) {
  if (!is_touched_[stack]) touched_.push_back(static_cast<uint32_t>(stack));
  is_touched_[stack] = true;
}

void Floors::writePoint(size_t point) {
  for (uint32_t stack : touched_) {
    is_touched_[stack] = false;
    auto& changes = floors_[stack].changes;
    uint64_t written = changes.empty() ? 0 : changes.back().bytes;
    uint64_t least = states_[stack].least;
    if (written != least) changes.push_back({static_cast<uint32_t>(point), least});
  }
  touched_.clear();
}

inline bool Floors::isLife(uint64_t row) const {
  return trace_.allocations.first_step[row] < trace_.allocations.last_step[row];
}

// Whether the event of that step ends a row. `row` is a row of the device in any case.
inline bool Floors::endsAt(Step step, uint64_t& row) const {
  const model::Allocations& a = trace_.allocations;
  uint64_t event = device_.event_begin + step;
  model::Action action = trace_.events.action[event];
  uint32_t subject = trace_.events.subject[event];
  static_assert(static_cast<unsigned>(model::Action::kFreeRequested) == 1 &&
                static_cast<unsigned>(model::Action::kFreeCompleted) == 2 &&
                static_cast<unsigned>(model::Action::kFree) == 3);  // model::kFrees
  unsigned frees = static_cast<unsigned>(static_cast<unsigned>(action) - 1U < 3U) &
                   static_cast<unsigned>(subject != UINT32_MAX);
  row = device_.allocation_begin;
  row += (subject - row) & (uint64_t{0} - frees);
  // A completed free is the end of its block; its beginning is before it if an event shows it.
  constexpr uint8_t kBothEnds = model::kAllocSeen | model::kFreeCompletedSeen;
  unsigned ends = frees & static_cast<unsigned>(action == model::Action::kFreeCompleted) &
                  static_cast<unsigned>((a.flags[row] & kBothEnds) == kBothEnds);
  // Between a request and its completion a block is there.
  uint64_t next = std::min(event + 1, device_.event_end - 1);
  unsigned waits =
      static_cast<unsigned>(action == model::Action::kFreeRequested) &
      static_cast<unsigned>(trace_.events.action[next] == model::Action::kFreeCompleted) &
      static_cast<unsigned>(trace_.events.subject[next] == subject);
  if ((frees & ~(ends | waits)) != 0) [[unlikely]]
    return a.last_step[row] == step && a.first_step[row] < step;
  return ends != 0;
}

inline void Floors::undo(const Run& run, size_t count) {
  struct Change {
    uint64_t bytes;  // 2^64 − bytes of a birth
    size_t stack;
  };
  std::array<Change, std::tuple_size_v<Run>> changes;
  for (size_t i = 0; i < count; ++i) {
    uint64_t row = device_.allocation_begin + (run[i] >> 1);
    uint64_t bytes = trace_.allocations.block_bytes[row];
    changes[i] = {(run[i] & 1U) != 0 ? uint64_t{0} - bytes : bytes, indexOf(row)};
    model::fetch(&states_[changes[i].stack]);
  }
  for (size_t i = 0; i < count; ++i) {
    State& state = states_[changes[i].stack];
    state.out += changes[i].bytes;
    if (state.out >= state.least || (run[i] & 1U) == 0) continue;
    state.least = state.out;
    touch(changes[i].stack);
  }
}

// From the state before step `end` to that before step `begin`. Deaths first: undone, they only
// add. Then a new least can only follow an undone birth, and of several in one step the last has
// the least.
void Floors::undoSteps(Step begin, Step end) {
  const model::Allocations& a = trace_.allocations;
  const uint64_t first = device_.allocation_begin;
  auto numberOf = [&](uint64_t row) { return static_cast<Undone>(row - first) << 1; };
  Run run;
  size_t count = 0;
  auto undoAlone = [&](Undone one) {
    undo(run, count);
    run[0] = one;
    undo(run, 1);
    count = 0;
  };
  for (Step step = end; step-- > begin;) {
    uint64_t row = 0;
    bool dies = endsAt(step, row);
    run[count] = numberOf(row);
    count += dies ? 1 : 0;
    model::fetch(&a.block_bytes[row]);
    model::fetch(&a.stack[row]);
    for (; !silent_.empty() && silent_.back().first == step; silent_.pop_back())
      undoAlone(numberOf(silent_.back().second));
    // Rows from born_ on are undone. Mostly a step has one birth, or none.
    row = std::max(born_, first + 1) - 1;
    bool is_born = born_ > first && a.first_step[row] >= step;
    run[count] = numberOf(row) | 1U;
    count += static_cast<size_t>(is_born) & static_cast<size_t>(isLife(row));
    born_ -= is_born ? 1 : 0;
    for (; born_ > first && a.first_step[born_ - 1] >= step; --born_)
      if (isLife(born_ - 1)) undoAlone(numberOf(born_ - 1) | 1U);
  }
  undo(run, count);
}

void Floors::walk() {
  const model::Allocations& a = trace_.allocations;
  for (uint64_t row = device_.allocation_begin; row < device_.allocation_end; ++row) {
    if (a.last_step[row] < end_ || a.first_step[row] >= a.last_step[row]) continue;
    states_[indexOf(row)].out += a.block_bytes[row];
  }
  for (size_t stack = 0; stack < states_.size(); ++stack) {
    states_[stack].least = states_[stack].out;
    if (states_[stack].out > 0) touch(stack);
  }
  silent_ = silentDeaths(trace_, device_, end_);
  size_t point = points_.size();
  for (Step end = end_; end > 0;) {
    if (point > 0 && points_[point - 1] == end - 1) writePoint(--point);
    if (point == 0) break;
    Step begin = points_[point - 1] < end - 1 ? points_[point - 1] + 1 : 0;
    begin = std::max(begin, end - std::min(end, kRun));
    undoSteps(begin, end);
    end = begin;
  }
}

}  // namespace tidegauge::analysis
