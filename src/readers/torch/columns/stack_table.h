// Frames and stacks, stored once each. Equal frames share a FrameId, equal lists of frames a
// StackId.
//
// Cost: one hash of 4 bytes per frame and one lookup per list; 12 bytes per distinct stack and 4
// per frame in it.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "model/trace.h"

namespace tidegauge::readers::torch {

struct FrameRow {
  model::StringId function;
  model::StringId file;
  uint64_t line = 0;
  model::StringId note;
  bool forward = false;  // of the forward pass (forward_stacks.h)

  bool operator==(const FrameRow&) const = default;
};

class FrameTable {
 public:
  FrameTable(model::Frames& frames, const base::StringPool& strings)
      : frames_(frames), strings_(strings) {}
  model::FrameId intern(const FrameRow& row);

 private:
  struct Hash {
    size_t operator()(const FrameRow& row) const;
  };
  model::Frames& frames_;
  const base::StringPool& strings_;
  boost::unordered_flat_map<FrameRow, model::FrameId, Hash> ids_;
};

class StackTable {
 public:
  explicit StackTable(model::Stacks& stacks) : stacks_(stacks), slots_(kFirstSlots) {}
  // Returns an invalid id for an empty list.
  model::StackId intern(std::span<const model::FrameId> frames);

 private:
  // An open-addressing table of eight-byte slots: one cache line decides most lookups, and nearly
  // every allocation of a file needs a lookup.
  struct Slot {
    uint32_t hash = 0;  // its lower bits are the start of the search
    model::StackId id;  // invalid: free
  };
  static constexpr size_t kFirstSlots = 1024;  // always a power of two

  bool holds(const Slot& slot, uint32_t hash, std::span<const model::FrameId> frames) const;
  void grow();

  model::Stacks& stacks_;
  std::vector<Slot> slots_;
};

model::FrameKind frameKindOf(std::string_view file, std::string_view function);

}  // namespace tidegauge::readers::torch
