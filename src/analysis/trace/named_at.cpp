#include "analysis/trace/named_at.h"

namespace tidegauge::analysis {

NamedMemory namedAt(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                    const Holders& holders) {
  const model::Trace& trace = analysed.trace;
  Peak place;
  place.step = holders.step;
  place.at_start = holders.at_start;
  // Without events, the final state is all there is.
  bool only_end = device.device.steps() == 0;
  return namedMemory(trace, device.device, [&](uint32_t row) {
    return only_end ? trace.allocations.last_step[row] == 0 : isLiveAt(trace, row, place);
  });
}

NamedHolders namedHolders(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                          const Holders& holders) {
  NamedHolders all;
  if (!analysed.trace.tensors) return all;
  for (const NamedBlock& block : namedAt(analysed, device, holders).blocks) {
    NamedHolder& holder = all[analysed.trace.allocations.stack[block.allocation]];
    holder.block_bytes += block.block_bytes;
    ++holder.blocks;
    if (holder.largest.size() < kMaxNamedOfHolder) holder.largest.push_back(block.tensor);
  }
  return all;
}

}  // namespace tidegauge::analysis
