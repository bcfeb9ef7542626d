// How much of the live memory the program named (model/tensors), and by which kind of tensor.
//
//   at step 812   live 1.5 GiB, of it named 1.2 GiB: parameters 800 MiB, optimizer state 400 MiB
//
// A block counts once, with its main tensor. Cost: a pass over the named allocations.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "model/tensors/tensors.h"

namespace tidegauge::analysis {

inline constexpr size_t kTensorKinds = static_cast<size_t>(model::TensorKind::kOther) + 1;

// "parameters", "optimizer state", …: memory of that kind, for people.
std::string_view title(model::TensorKind kind);

struct NamedBlock {
  uint32_t tensor = 0;      // the main one: a row of trace.tensors
  uint32_t allocation = 0;  // a row of trace.allocations
  uint64_t block_bytes = 0;
};

struct NamedMemory {
  uint64_t block_bytes = 0;
  std::array<uint64_t, kTensorKinds> bytes_by_kind{};
  std::vector<NamedBlock> blocks;  // most bytes first, then by tensor
};

// `is_live(row)`: is that allocation live there? Empty if the trace has no names.
template <class IsLive>
NamedMemory namedMemory(const model::Trace& trace, const model::Device& device, IsLive is_live);

// ---- implementation ----------------------------------------------------------------------------

// The named allocations of a device, each with its main tensor, in order of allocations.
std::vector<NamedBlock> namedBlocks(const model::Trace& trace, const model::Device& device);
NamedMemory sumOf(const model::Trace& trace, std::vector<NamedBlock> blocks);

template <class IsLive>
NamedMemory namedMemory(const model::Trace& trace, const model::Device& device, IsLive is_live) {
  std::vector<NamedBlock> blocks = namedBlocks(trace, device);
  std::erase_if(blocks, [&](const NamedBlock& block) { return !is_live(block.allocation); });
  return sumOf(trace, std::move(blocks));
}

}  // namespace tidegauge::analysis
