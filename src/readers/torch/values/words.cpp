#include "readers/torch/values/words.h"

#include <array>

namespace tidegauge::readers::torch {
namespace {

constexpr std::array<std::string_view, static_cast<size_t>(Word::kCount)> kTexts = {
    "",
    "alloc",
    "free_requested",
    "free_completed",
    "free",
    "segment_alloc",
    "segment_free",
    "segment_map",
    "segment_unmap",
    "oom",
    "snapshot",
    "annotate",
    "user_defined",
    "action",
    "addr",
    "device_free",
    "size",
    "stream",
    "time_us",
    "frames",
    "compile_context",
    "user_metadata",
    "internal_metadata",
    "pool_id",
    "forward_frames",
    "category",
    "filename",
    "line",
    "name",
    "fx_node_op",
    "fx_node_name",
    "fx_node_target",
    "fx_node_info",
    "fx_original_trace",
    "segments",
    "device_traces",
    "allocator_settings",
    "external_annotations",
    "host_segments",
    "host_traces",
    "tidegauge",
    "device",
    "address",
    "total_size",
    "allocated_size",
    "active_size",
    "requested_size",
    "segment_type",
    "segment_pool_id",
    "is_expandable",
    "blocks",
    "state",
    "history",
    "real_size",
    "large",
    "small",
    "active_allocated",
    "active_pending_free",
    "active_awaiting_free",
    "inactive",
    "stage",
    "START",
    "END",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "max_split_size",
    "expandable_segments",
    "roundup_power2_divisions",
    "max_round_threshold",
    "trace_alloc_overflowed",
    "trace_alloc_max_entries",
};

constexpr size_t kSlots = 256;  // a power of two, about four times the words

constexpr size_t slotOf(std::string_view text) {
  auto at = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(text[i])); };
  return (text.size() * 37 + at(0) * 7 + at(text.size() / 2) * 29 + at(text.size() - 1) * 3) %
         kSlots;
}

// Open addressing, built at compile time: slot → word, 0 = empty.
constexpr std::array<uint8_t, kSlots> kTable = [] {
  std::array<uint8_t, kSlots> table{};
  for (size_t word = 1; word < kTexts.size(); ++word) {
    size_t slot = slotOf(kTexts[word]);
    while (table[slot] != 0) slot = (slot + 1) % kSlots;
    table[slot] = static_cast<uint8_t>(word);
  }
  return table;
}();

}  // namespace

Word wordOf(std::string_view text) {
  if (text.size() < 3 || text.size() > 24) return Word::kOther;
  for (size_t slot = slotOf(text); kTable[slot] != 0; slot = (slot + 1) % kSlots) {
    if (kTexts[kTable[slot]] == text) return static_cast<Word>(kTable[slot]);
  }
  return Word::kOther;
}

}  // namespace tidegauge::readers::torch
