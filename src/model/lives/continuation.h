// Continuation: what of a trace is as it was in the reading that it continues, so that indexes of
// that one can be continued as well.
//
//   before   ├ steps … ┤├ the latest ┤
//   now      ├ steps … ┤├ new … … … … … ┤      the first device; the others may differ in all rows
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/trace.h"

namespace tidegauge::model {

struct Continuation {
  std::shared_ptr<const RecordedWork> of;  // the work of the trace before, by which it is known
  // Events of the first device before this step are the same, and all lives that ended before it.
  // No life that began before it is older than the recording or has a lost end.
  Step steps = 0;
  struct Resized {
    uint32_t row = 0;
    uint64_t bytes_before = 0;  // of the block
  };
  // Of the lives that began before and did not end before: those with another size. By row.
  std::vector<Resized> resized;
};

}  // namespace tidegauge::model
