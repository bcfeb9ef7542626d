// Pickle: decodes the opcodes of protocols 2 to 5 and sends each step to the machine. Knows about
// forty opcodes; every opcode that could import or call something is refused by name.
//
//   80 04 95 …  }  94  (  8c 06 "action"  94  8c 05 "alloc"  94  …  u  .
//
// Cost: a few nanoseconds per opcode. Source: docs/formats/snapshot.md.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "readers/torch/pickle/machine.h"

namespace tidegauge::readers::torch {

struct PickleEnd {
  Value top;
  uint64_t end_offset = 0;  // first byte after STOP
  int protocol = 0;
};

// Called occasionally with the number of bytes read.
using BytesDone = std::function<void(uint64_t)>;

// Does the input start like a pickle that this reader supports?
bool looksLikePickle(std::span<const uint8_t> input);

// False: see machine.failed() and machine.needsCareful().
bool readPickle(std::span<const uint8_t> input, Machine& machine, Columns& columns,
                const BytesDone& bytes_done, PickleEnd& end);

}  // namespace tidegauge::readers::torch
