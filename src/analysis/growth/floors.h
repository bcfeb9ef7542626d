// Floors: the least outstanding bytes of each stack, from each point on to the end.
//
//   outstanding of a stack  ▂▅▃▆▄▇▅█▆█    a walk backwards, which undoes what events did
//   floor                   ▂▃▃▄▄▅▅▆▆█    kept only where it is below that of the point after
//
// Rows and stacks are at random places, and what an event does cannot be predicted. So each run of
// events is walked in three loops without such branches: which rows begin or end, what is known of
// each, and what that does to its stack. Then the processor waits for many places at a time.
//
// Cost: one pass over the events; 40 bytes per stack while it runs.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/trace.h"

namespace tidegauge::analysis {

using model::StackId;
using model::Step;

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

class Floors {
 public:
  // `end`: the states before this step. `points` ascend.
  Floors(const model::Trace& trace, const model::Device& device, const std::vector<Step>& points,
         Step end);
  // The last one: of rows without a stack.
  size_t size() const { return floors_.size(); }
  const Floor& of(size_t stack) const { return floors_[stack]; }

 private:
  // The figures of a stack stand together, because a walk comes to stacks in a random order, and
  // those that few events need stand apart.
  struct alignas(16) State {
    uint64_t out = 0;
    uint64_t least = 0;
  };
  // A row of the device, and in the lowest bit whether it begins. Rows have 31 bits, as
  // BlockNumber.
  using Undone = uint32_t;
  static constexpr Step kRun = 256;
  using Run = std::array<Undone, 2 * size_t{kRun}>;  // a step undoes a death and a birth

  size_t indexOf(uint64_t row) const;
  void touch(size_t stack);
  void writePoint(size_t point);
  void walk();
  void undoSteps(Step begin, Step end);
  bool isLife(uint64_t row) const;
  bool endsAt(Step step, uint64_t& row) const;
  void undo(const Run& run, size_t count);

  const model::Trace& trace_;
  const model::Device& device_;
  const std::vector<Step>& points_;
  Step end_;
  std::vector<Floor> floors_;
  std::vector<State> states_;
  std::vector<bool> is_touched_;   // since the last point
  std::vector<uint32_t> touched_;  // since the last point
  uint64_t born_;                  // rows from this one on are undone
  std::vector<std::pair<Step, uint32_t>> silent_;
};

}  // namespace tidegauge::analysis
