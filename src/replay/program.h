// What a program asked of the allocator, taken out of a trace: the input of a replay under other
// settings.
//
//   malloc 7, 3 MiB, stream 0, pool 0      name 7: the 7th allocation row of the device
//   free 7, shared                         record_stream gave it to others
//   done 7                                 the others were through with it
//
// Everything that concerns segments is left out: that is the allocator's answer.
#pragma once

#include <cstdint>
#include <vector>

#include "model/trace.h"
#include "replay/allocator/blocks.h"

namespace tidegauge::replay {

enum class Op : uint8_t { kMalloc, kFree, kDone, kEmptyCache, kReleasePool };

struct Request {
  uint64_t bytes = 0;
  uint32_t name = 0;
  model::Step step = 0;  // of the event that tells it
  StreamRank stream = 0;
  OwnerIndex owner = 0;
  Op op = Op::kMalloc;
  bool failed = false;  // kMalloc: it was an out of memory when it was recorded; bytes are rounded
  bool is_shared = false;  // kFree
};

struct Program {
  uint32_t names = 0;  // all are below it
  std::vector<Request> requests;
};

}  // namespace tidegauge::replay
