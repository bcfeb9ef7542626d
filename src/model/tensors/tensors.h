// Tensors: names that the program gave to its memory, beside the trace (docs/formats/snapshot.md).
//
//   row  name                       address   time_us    allocation
//   0    layers.3.attn.q_proj.weight  7f10…     …800   → 41
//   1    embed.weight                 7f20…     …800   → 17        tied: one storage,
//   2    lm_head.weight               7f20…     …800   → 17        two names
//   3    old activation               7f30…     …100   → invalid   no recorded block was there
//
// An allocation may hold many tensors (views, flattened parameters). The first of its list is its
// *main* one: the most telling kind, then the order of the file.
//
// Cost: 61 bytes per tensor and their texts; nothing for a trace without names (Trace::tensors is
// null).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/trace.h"

namespace tidegauge::model {

// In the order in which they name a block: a block of a parameter is called by it, whatever other
// tensors lie in it.
enum class TensorKind : uint8_t {
  kParameter,
  kBuffer,
  kGradient,
  kOptimizerState,
  kActivation,
  kOther,
};
std::string_view name(TensorKind kind);  // "parameter", … as in the file
std::optional<TensorKind> tensorKindOf(std::string_view word);

struct Tensors {
  std::vector<int32_t> device;       // ordinal
  std::vector<uint64_t> address;     // of the tensor's storage, as is its size
  std::vector<uint64_t> size_bytes;  // kUnknownBytes: not stated
  std::vector<StringId> name;
  std::vector<TensorKind> kind;
  std::vector<StringId> of;      // the parameter that it belongs to; invalid: none
  std::vector<StringId> state;   // "exp_avg" of an optimizer's state; invalid: none
  std::vector<StringId> shape;   // "[4096, 1024]"; invalid: not stated
  std::vector<StringId> dtype;   // "float32"; invalid: not stated
  std::vector<int64_t> time_us;  // when it was named; kNoTime: not stated
  // Set by joinTensors. Invalid: no known block was there at that time.
  std::vector<AllocationId> allocation;
  // Rows that have an allocation, by allocation, the main one of each first. A tensor that was
  // named again in the same one (each training step) is there once. Set by joinTensors.
  std::vector<uint32_t> by_allocation;

  size_t size() const { return address.size(); }
};

// The tensors of an allocation, the main one first; empty if none was named. O(log tensors).
std::span<const uint32_t> tensorsOf(const Trace& trace, AllocationId allocation);
// The main one.
std::optional<uint32_t> mainTensor(const Trace& trace, AllocationId allocation);

}  // namespace tidegauge::model
