#include "analysis/labels/named_memory.h"

#include <algorithm>
#include <tuple>

namespace tidegauge::analysis {

std::string_view title(model::TensorKind kind) {
  constexpr std::array<std::string_view, kTensorKinds> kTitles = {
      "parameters", "buffers", "gradients", "optimizer state", "activations", "others"};
  return kTitles[static_cast<size_t>(kind)];
}

std::vector<NamedBlock> namedBlocks(const model::Trace& trace, const model::Device& device) {
  std::vector<NamedBlock> blocks;
  if (!trace.tensors) return blocks;
  const model::Tensors& tensors = *trace.tensors;
  for (uint32_t tensor : tensors.by_allocation) {
    uint32_t row = tensors.allocation[tensor].value;
    if (row < device.allocation_begin || row >= device.allocation_end) continue;
    // The main tensor of an allocation comes first.
    if (!blocks.empty() && blocks.back().allocation == row) continue;
    blocks.push_back({tensor, row, trace.allocations.block_bytes[row]});
  }
  return blocks;
}

NamedMemory sumOf(const model::Trace& trace, std::vector<NamedBlock> blocks) {
  NamedMemory sum;
  sum.blocks = std::move(blocks);
  for (const NamedBlock& block : sum.blocks) {
    sum.block_bytes += block.block_bytes;
    sum.bytes_by_kind[static_cast<size_t>(trace.tensors->kind[block.tensor])] += block.block_bytes;
  }
  std::sort(sum.blocks.begin(), sum.blocks.end(), [](const NamedBlock& x, const NamedBlock& y) {
    return std::tuple(y.block_bytes, x.tensor) < std::tuple(x.block_bytes, y.tensor);
  });
  return sum;
}

}  // namespace tidegauge::analysis
