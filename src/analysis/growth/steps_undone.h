// StepsUndone: the outstanding bytes of each stack, on a walk backwards, which undoes what events
// did.
//
//   event         alloc 8   alloc 4   free 8     after it   out 4, least 4
//   undone                            ◄─────                out 12
//                           ◄───────                        out 8
//
// Rows and stacks are at random places, and what an event does cannot be predicted. So each run of
// events is walked in three loops without such branches: which rows begin or end, what is known of
// each, and what that does to its stack. Then the processor waits for many places at a time.
//
// Cost: 9 ns per event; 16 bytes per stack.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/labels/allocating_stack.h"
#include "model/columns/fetch.h"
#include "model/trace.h"

namespace tidegauge::analysis {

using model::StackId;
using model::Step;

class StepsUndone {
 public:
  // The figures of a stack stand together, because a walk comes to stacks in a random order, and
  // those that few events need stand apart.
  struct alignas(16) State {
    uint64_t out = 0;
    uint64_t least = 0;
  };
  static constexpr Step kRun = 256;

  StepsUndone(const model::Trace& trace, const model::Device& device)
      : trace_(trace),
        device_(device),
        states_(trace.stacks.size() + 1),
        born_(device.allocation_end) {}

  // The last one: of rows without a stack.
  size_t stacks() const { return states_.size(); }
  size_t indexOf(uint64_t row) const {
    StackId stack = allocatingStack(trace_.allocations, row);
    return stack.valid() ? stack.index() : states_.size() - 1;
  }
  State& of(size_t stack) { return states_[stack]; }
  // Rows from this one on are undone, or not there yet.
  void beginAt(uint64_t row) { born_ = row; }
  // Rows that end without an event that says so: by step.
  void setSilent(std::vector<std::pair<Step, uint32_t>> deaths) { silent_ = std::move(deaths); }

  // From the state before step `end` to that before step `begin`, kRun steps at most. Calls
  // changes(stack) for each row that begins or ends there, and falls(stack, row) where the row's
  // begin, undone, leaves less than ever.
  //
  // Deaths first: undone, they only add. Then a new least can only follow an undone birth, and of
  // several in one step the last has the least.
  template <class Changes, class Falls>
  void undo(Step begin, Step end, const Changes& changes, const Falls& falls);

 private:
  // A row of the device, and in the lowest bit whether it begins. Rows have 31 bits, as
  // BlockNumber.
  using Undone = uint32_t;
  using Run = std::array<Undone, 2 * size_t{kRun}>;  // a step undoes a death and a birth

  bool isLife(uint64_t row) const {
    return trace_.allocations.first_step[row] < trace_.allocations.last_step[row];
  }
  bool endsAt(Step step, uint64_t& row) const;
  template <class Changes, class Falls>
  void undoRun(const Run& run, size_t count, const Changes& changes, const Falls& falls);

  const model::Trace& trace_;
  const model::Device& device_;
  std::vector<State> states_;
  uint64_t born_;
  std::vector<std::pair<Step, uint32_t>> silent_;
};

// Whether the event of that step ends a row. `row` is a row of the device in any case.
inline bool StepsUndone::endsAt(Step step, uint64_t& row) const {
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

template <class Changes, class Falls>
inline void StepsUndone::undoRun(const Run& run, size_t count, const Changes& changes,
                                 const Falls& falls) {
  struct Change {
    uint64_t bytes;  // 2^64 − bytes of a birth
    size_t stack;
  };
  std::array<Change, std::tuple_size_v<Run>> all;
  for (size_t i = 0; i < count; ++i) {
    uint64_t row = device_.allocation_begin + (run[i] >> 1);
    uint64_t bytes = trace_.allocations.block_bytes[row];
    all[i] = {(run[i] & 1U) != 0 ? uint64_t{0} - bytes : bytes, indexOf(row)};
    model::fetch(&states_[all[i].stack]);
  }
  for (size_t i = 0; i < count; ++i) {
    State& state = states_[all[i].stack];
    state.out += all[i].bytes;
    changes(all[i].stack);
    if (state.out >= state.least || (run[i] & 1U) == 0) continue;
    state.least = state.out;
    falls(all[i].stack, device_.allocation_begin + (run[i] >> 1));
  }
}

template <class Changes, class Falls>
void StepsUndone::undo(Step begin, Step end, const Changes& changes, const Falls& falls) {
  const model::Allocations& a = trace_.allocations;
  const uint64_t first = device_.allocation_begin;
  auto numberOf = [&](uint64_t row) { return static_cast<Undone>(row - first) << 1; };
  Run run;
  size_t count = 0;
  auto undoAlone = [&](Undone one) {
    undoRun(run, count, changes, falls);
    run[0] = one;
    undoRun(run, 1, changes, falls);
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
  undoRun(run, count, changes, falls);
}

}  // namespace tidegauge::analysis
