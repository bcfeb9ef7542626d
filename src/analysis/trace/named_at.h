// The named memory among the holders at one place: in all, and by stack.
//
//   stack 7   800 MiB at the peak, of it named 780 MiB: "layers.0.weight" and more
//
// Cost: a pass over the named allocations; nothing without names.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/labels/named_memory.h"
#include "analysis/trace/peak.h"

namespace tidegauge::analysis {

// Of the blocks that are live at the place of `holders`.
NamedMemory namedAt(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                    const Holders& holders);

struct NamedHolder {
  uint64_t block_bytes = 0;  // of named blocks
  uint64_t blocks = 0;
  std::vector<uint32_t> largest;  // tensors of the largest blocks, at most kMaxNamedOfHolder
};
inline constexpr size_t kMaxNamedOfHolder = 3;

// By stack. Empty if the trace has no names.
using NamedHolders = std::map<StackId, NamedHolder>;
NamedHolders namedHolders(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                          const Holders& holders);

}  // namespace tidegauge::analysis
