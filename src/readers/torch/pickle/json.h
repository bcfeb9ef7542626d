// JSON: the same snapshot as written by json.dump. Sends the same steps to the machine as a pickle,
// so the rest is shared.
//
//   {"segments": [], "device_traces": [[{"action": "alloc", …}]]}
//
// Strings without escapes stay in the input; NaN and Infinity are accepted, since Python writes
// them.
#pragma once

#include <cstdint>
#include <span>

#include "readers/torch/pickle/machine.h"
#include "readers/torch/pickle/pickle.h"

namespace tidegauge::readers::torch {

bool looksLikeJson(std::span<const uint8_t> input);

struct JsonEnd {
  Value top;
  uint64_t end_offset = 0;  // first byte after the value
};

// False: see machine.failed() and machine.needsCareful().
bool readJson(std::span<const uint8_t> input, Machine& machine, Values& values,
              const BytesDone& bytes_done, JsonEnd& end);

}  // namespace tidegauge::readers::torch
