// Made-up traces whose fragmentation tests of reports and of plots look at.
#pragma once

#include <utility>

#include "model/recorded_work.h"
#include "support/bytes.h"
#include "support/simulated_heap.h"
#include "support/trace_builder.h"

namespace tidegauge::testing {

using model::BlockState;

// A segment of `blocks` blocks, each followed by a hole, then `events` that change nothing.
inline model::Trace combOf(uint64_t blocks, uint64_t block_bytes, uint64_t hole_bytes) {
  TraceBuilder b;
  uint64_t total = blocks * (block_bytes + hole_bytes);
  b.stack({"build@model.py:7"}).segmentAlloc(kA, total);
  for (uint64_t i = 0; i < blocks; ++i) {
    b.alloc(kA + i * (block_bytes + hole_bytes), block_bytes);
  }
  b.finalSegment(kA, total);
  for (uint64_t i = 0; i < blocks; ++i) {
    b.block(block_bytes, BlockState::kActiveAllocated, block_bytes);
    if (hole_bytes > 0) b.block(hole_bytes, BlockState::kInactive);
  }
  return b.build();
}

// 600 events of a heap whose score moves.
inline model::Trace movingHeap() {
  TraceBuilder b;
  b.stack({"build@model.py:7"}).segmentAlloc(kA, 1024 * kMiB);
  for (uint64_t i = 0; i < 200; ++i) {
    b.alloc(kA + i * 4 * kMiB, (1 + i * 7 % 3) * kMiB);
    if (i % 3 != 0) b.free(kA + i * 4 * kMiB, (1 + i * 7 % 3) * kMiB);
  }
  return b.build();
}

// Driver memory used directly: 30 MiB held at the end; the driver reported 40 of 80 MiB free to its
// program before 20 of them.
inline model::Trace ofDriver(bool is_told) {
  TraceBuilder b;
  b.time(1'000'000).stack({"m@m.c:7"}).segmentAlloc(kA, 10 * kMiB).alloc(kA, 10 * kMiB);
  b.time(3'000'000).segmentAlloc(kA + 64 * kMiB, 20 * kMiB).alloc(kA + 64 * kMiB, 20 * kMiB);
  b.finalSegment(kA, 10 * kMiB).block(10 * kMiB, BlockState::kActiveAllocated, 10 * kMiB);
  b.finalSegment(kA + 64 * kMiB, 20 * kMiB)
      .block(20 * kMiB, BlockState::kActiveAllocated, 20 * kMiB);
  model::Trace trace = b.build();
  trace.devices.at(0).has_allocator = false;
  auto work = std::make_shared<model::RecordedWork>();
  work->run = std::make_shared<model::RecordedRun>();
  if (is_told) {
    work->answers.time_ns = {1'000'500'000, 2'000'000'000, 2'500'000'000};
    work->answers.device = {0, 0, 1};
    work->answers.free_bytes = {60 * kMiB, 40 * kMiB, 1};
    work->answers.total_bytes = {80 * kMiB, 80 * kMiB, 80 * kMiB};
  }
  trace.work = work;
  return trace;
}

}  // namespace tidegauge::testing
