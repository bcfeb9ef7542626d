// The parts of the stack at given steps, bottom first: large blocks individually, small ones merged
// if they share a life.
//
//   samples            10      20      30
//   a  [5, 25)  large  ■       ■                a alone: begin 0, end 2
//   b  [12, 18)                                 between samples: left out
//   c  [15, 40) small          ■       ■   ┐
//   d  [16, 38) small          ■       ■   ┘    one part of two blocks: begin 1, end 3
//
// Between two large blocks, only the sum of the small ones matters, so their order may change
// there, within a bound (kMaxDisorder). This makes a view of the whole recording cheap: its
// millions of lives become some ten thousand parts.
//
// Cost: a scan of the rows born in the range (about 1 ns each), some 5 ns per row found.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "view/filter/mark_set.h"

namespace tidegauge::view {

using analysis::Step;

struct StackPart {
  double bytes = 0;
  uint32_t row = 0;     // of trace.allocations; the largest of several
  uint32_t blocks = 1;  // more than one: small blocks
  uint16_t begin = 0;   // samples [begin, end): live
  uint16_t end = 0;
  uint16_t waiting = 0;  // samples [waiting, end): freed, but waiting for other streams; one block
  uint8_t slot = 0;      // stackSlot of the row
  bool older = false;    // than the recording
};
static_assert(sizeof(StackPart) == 24);

struct StackQuestion {
  std::span<const Step> samples;  // increasing, at most 65,534
  double small_bytes = 0;         // blocks below this are small
  const MarkSet* mark = nullptr;  // its members are never merged
  uint64_t end_row = UINT64_MAX;  // rows from here on are skipped
  std::stop_token stop{};         // ends early, with no parts
};

std::vector<StackPart> stackParts(const analysis::AnalysedTrace& analysed,
                                  const analysis::DeviceAnalysis& device,
                                  const StackQuestion& question);

}  // namespace tidegauge::view
