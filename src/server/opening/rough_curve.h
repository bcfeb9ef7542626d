// RoughCurve: how much memory was allocated, from the events alone, while they are read.
//
//   alloc 4, alloc 2, free 4, alloc 1   →   points 4 6 2 3, each the most of some steps
//
// It starts at zero, because nobody knows yet what was there before the recording. If more is freed
// than was allocated, it is moved up, so its heights are lower bounds. The picture of the opened
// file takes its place.
//
// Cost: about 1 ns per event, 8 KiB.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/trace.h"

namespace tidegauge::server {

class RoughCurve {
 public:
  static constexpr size_t kMaxPoints = 1024;

  void add(std::span<const model::Action> action, std::span<const uint64_t> size_bytes);
  void clear() { *this = RoughCurve(); }

  uint64_t steps() const { return steps_; }
  // Steps that a point stands for; the last point may stand for fewer.
  uint64_t stepsPerPoint() const { return steps_per_point_; }
  // The most bytes of each point's steps.
  std::vector<uint64_t> points() const;

 private:
  void endPoint();

  std::vector<int64_t> most_;  // of finished points
  int64_t bytes_ = 0;
  int64_t least_ = 0;
  int64_t most_of_point_ = 0;
  uint64_t steps_ = 0;
  uint64_t steps_in_point_ = 0;
  uint64_t steps_per_point_ = 1;
};

}  // namespace tidegauge::server
