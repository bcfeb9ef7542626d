// Frames and stacks, stored once each. Equal frames share a FrameId, equal lists of frames a
// StackId.
//
// Cost: one hash of 4 bytes per frame and one lookup per list; 12 bytes per distinct stack and 4
// per frame in it.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
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
  explicit StackTable(model::Stacks& stacks) : stacks_(stacks), known_(0, {}, Same{&stacks}) {}
  // Returns an invalid id for an empty list.
  model::StackId intern(std::span<const model::FrameId> frames);

 private:
  struct Known {
    uint32_t hash = 0;
    model::StackId id;
  };
  struct List {
    uint32_t hash = 0;
    std::span<const model::FrameId> frames;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(const Known& stack) const { return stack.hash; }
    size_t operator()(const List& list) const { return list.hash; }
  };
  struct Same {
    using is_transparent = void;
    const model::Stacks* stacks;
    bool operator()(const List& list, const Known& stack) const {
      return list.hash == stack.hash && stacks->equals(stack.id, list.frames);
    }
    bool operator()(const Known& stack, const List& list) const { return (*this)(list, stack); }
    bool operator()(const Known& a, const Known& b) const { return a.id == b.id; }
  };

  model::Stacks& stacks_;
  // Most lists that come here are new. This table says so by one byte per stack, which the
  // processor's cache holds for a million stacks; one that has to look at the hashes waits for
  // memory at each.
  boost::unordered_flat_set<Known, Hash, Same> known_;
};

model::FrameKind frameKindOf(std::string_view file, std::string_view function);

}  // namespace tidegauge::readers::torch
