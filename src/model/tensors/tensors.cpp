#include "model/tensors/tensors.h"

#include <algorithm>
#include <array>

namespace tidegauge::model {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"parameter",       "buffer",     "gradient",
                                                    "optimizer_state", "activation", "other"};

}  // namespace

std::string_view name(TensorKind kind) { return kNames[static_cast<size_t>(kind)]; }

std::optional<TensorKind> tensorKindOf(std::string_view word) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == word) return static_cast<TensorKind>(i);
  }
  return std::nullopt;
}

std::span<const uint32_t> tensorsOf(const Trace& trace, AllocationId allocation) {
  if (!trace.tensors) return {};
  const Tensors& tensors = *trace.tensors;
  const std::vector<uint32_t>& rows = tensors.by_allocation;
  auto begin =
      std::lower_bound(rows.begin(), rows.end(), allocation,
                       [&](uint32_t row, AllocationId id) { return tensors.allocation[row] < id; });
  auto end = std::upper_bound(begin, rows.end(), allocation, [&](AllocationId id, uint32_t row) {
    return id < tensors.allocation[row];
  });
  return {begin, end};
}

std::optional<uint32_t> mainTensor(const Trace& trace, AllocationId allocation) {
  std::span<const uint32_t> all = tensorsOf(trace, allocation);
  if (all.empty()) return std::nullopt;
  return all.front();
}

}  // namespace tidegauge::model
