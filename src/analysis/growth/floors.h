// Floors: the least outstanding bytes of each stack, from each point on to the end.
//
//   outstanding of a stack  ▂▅▃▆▄▇▅█▆█    a walk backwards (steps_undone.h)
//   floor                   ▂▃▃▄▄▅▅▆▆█    kept only where it is below that of the point after
//
// Cost: one pass over the events; 40 bytes per stack while it runs. With the blocks of a trace that
// is continued (floor_blocks.h): a few ns per stack of each block, and a pass over what is newer.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/growth/floor_blocks.h"
#include "analysis/growth/steps_undone.h"
#include "model/trace.h"

namespace tidegauge::analysis {

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
  // `end`: the states before this step. `points` ascend. `blocks` of a trace that is continued, or
  // null.
  Floors(const model::Trace& trace, const DeviceAnalysis& device, const std::vector<Step>& points,
         Step end, const FloorBlocks* blocks);
  // The last one: of rows without a stack.
  size_t size() const { return floors_.size(); }
  const Floor& of(size_t stack) const { return floors_[stack]; }

 private:
  void add(uint64_t row);
  void touch(size_t stack);
  void writePoint();
  void walk(const FloorBlocks* blocks);
  void undoBlock(const FloorBlock& block);
  void undoBlockWithPoints(const FloorBlock& block, size_t first);

  const model::Trace& trace_;
  const std::vector<Step>& points_;
  Step end_;
  StepsUndone undone_;
  std::vector<Floor> floors_;
  size_t point_;                   // points from this one on are written
  std::vector<bool> is_touched_;   // since the last point
  std::vector<uint32_t> touched_;  // since the last point
};

}  // namespace tidegauge::analysis
