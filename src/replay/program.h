// The requests of a program to the allocator, extracted from a trace: the input of a replay under
// other settings.
//
//   malloc 7, 3 MiB, stream 0, pool 0      name 7: the 7th allocation row of the device
//   free 7, shared                         record_stream gave it to others
//   done 7                                 the others were done with it
//
// Everything about segments is left out: that is the allocator's answer.
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
  model::Step step = 0;  // the step of its event
  StreamRank stream = 0;
  OwnerIndex owner = 0;
  Op op = Op::kMalloc;
  bool failed = false;     // kMalloc: it ran out of memory when recorded; bytes are rounded
  bool is_shared = false;  // kFree
};

struct Program {
  uint32_t names = 0;  // all names are below it
  std::vector<Request> requests;
};

}  // namespace tidegauge::replay
