// Columns: where event and frame dicts end up. Takes the items of one dict and writes one row; no
// object is made for it.
//
//   {"action": "alloc", "addr": 0x7f…, "size": 512, "stream": 0, "frames": [stack 3]}  →  row 17
//
// Cost: about 45 bytes per event. Source: docs/formats/snapshot.md.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/trace.h"
#include "readers/torch/oddities.h"
#include "readers/torch/stack_table.h"
#include "readers/torch/values.h"

namespace tidegauge::readers::torch {

// One event on its way into the columns; the defaults mean "the file does not say".
struct EventRow {
  model::Action action = model::Action::kFirstUnknown;
  bool has_action = false;
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  model::StackId stack;
  model::StreamId stream{0};
  int64_t time_us = model::kNoTime;
  model::PoolId pool;
  model::StringId compile_context;
  model::StringId metadata;
  model::StringId category;
};

class Columns {
 public:
  Columns(model::Trace& trace, Values& values, Oddities& oddities);

  // Room for the events and stacks that an input of this size can hold. Memory that is never
  // touched costs nothing, and growing would copy everything a few times.
  void reserve(uint64_t input_bytes);

  // ---- events
  uint32_t addEvent(const EventRow& row);
  void setField(EventRow& row, Value key, Value value);
  void setFields(EventRow& row, Items items);
  uint32_t addEvent(Items items);
  uint32_t addEventFromNode(uint32_t node);
  void changeEvent(uint32_t row, Items items);  // more items for a dict that is a row already
  model::StringId compileContextOf(Value value) { return cachedText(last_context_, value); }
  model::StringId metadataOf(Value value) { return cachedText(last_metadata_, value); }
  // Can this be the size of an event? Larger ones are nonsense; sums of a few thousand still fit.
  static bool isSize(int64_t bytes) { return bytes >= 0 && bytes <= kLargestSize; }
  // Event rows have 32-bit numbers.
  bool hasRoomForEvent() const { return events() < 0xfffffffe; }
  size_t events() const { return trace_.events.size(); }
  // Fills the columns that only some events have up to the last row.
  void finishEvents();

  // ---- frames and stacks
  std::optional<model::FrameId> addFrame(Items items);
  model::StackId addStack(std::span<const model::FrameId> frames) { return stacks_.intern(frames); }
  // The stack in any value that a "frames" key may have; reports what it cannot use.
  model::StackId stackOf(Value value, Place place);
  // Was this node read as a frame, stack or text already? Then it must not change any more.
  bool isFrozen(uint32_t node) const { return !frozen_.empty() && frozen_.contains(node); }

  // ---- streams and pools
  model::StreamId streamOf(uint64_t raw) {
    return raw == last_stream_raw_ ? last_stream_ : otherStreamOf(raw);
  }
  Value pairOf(uint64_t first, uint64_t second);
  model::StreamId streamOf(Value value, Place place);
  model::PoolId poolOf(Value value, Place place);

  Values& values() { return values_; }
  Oddities& oddities() { return oddities_; }

 private:
  static constexpr int64_t kLargestSize = int64_t{1} << 50;

  model::StreamId otherStreamOf(uint64_t raw);
  model::Action actionOf(Value value);
  // The text of a value, which must not change from now on.
  model::StringId describedText(Value value);
  uint64_t sizeOf(Value value);
  // The frame in a value; invalid if it is none.
  model::FrameId frameOf(Value value);
  FrameRow frameRow(Items items);

  model::Trace& trace_;
  Values& values_;
  Oddities& oddities_;
  FrameTable frames_;
  StackTable stacks_;
  boost::unordered_flat_map<uint64_t, model::StreamId> streams_;
  boost::unordered_flat_map<uint32_t, model::PoolId> pools_;  // by index of the pair
  boost::unordered_flat_map<uint32_t, model::StackId> stack_of_node_;
  boost::unordered_flat_map<uint32_t, model::FrameId> frame_of_node_;
  boost::unordered_flat_set<uint32_t> frozen_;
  // The last value of a kind and what it became: neighbours are mostly alike.
  struct LastText {
    Value value;
    std::string_view text;
    model::StringId id;
  };
  model::StringId cachedText(LastText& last, Value value);
  LastText last_context_, last_metadata_, last_category_;
  uint64_t last_stream_raw_ = 0;
  model::StreamId last_stream_{0};
  uint64_t last_pair_[2] = {};
  Value last_pair_value_;
  Value last_pool_value_;
  model::PoolId last_pool_;
};

}  // namespace tidegauge::readers::torch
