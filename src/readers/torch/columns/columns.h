// Columns: the destination of event and frame dicts. Writes the items of one dict as one row,
// without an object in between.
//
//   {"action": "alloc", "addr": 0x7f…, "size": 512, "stream": 0, "frames": [stack 3]}  →  row 17
//
// Cost: 21 to 29 bytes per event, and more where columns are not uniform (model/trace.h). Source:
// docs/formats/snapshot.md.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/memory/pages_ahead.h"
#include "base/sizes.h"
#include "model/trace.h"
#include "readers/torch/columns/event_chunk.h"
#include "readers/torch/columns/forward_stacks.h"
#include "readers/torch/columns/row_block.h"
#include "readers/torch/columns/stack_table.h"
#include "readers/torch/values/oddities.h"
#include "readers/torch/values/values.h"

namespace tidegauge::readers::torch {

// One event on its way into the columns; the defaults mean "not in the file".
struct EventRow {
  model::Action action = model::Action::kFirstUnknown;
  uint32_t keys = 0;  // the keys that occurred: bit n is Word n
  uint64_t address = 0;
  uint64_t device_free_bytes = model::kUnknownBytes;  // replaces the address in an oom
  uint64_t size_bytes = model::kUnknownBytes;
  model::StackId stack;
  model::StreamId stream{0};
  int64_t time_us = model::kNoTime;
  model::PoolId pool;
  model::StringId compile_context;
  model::StringId metadata;
  model::StringId category;
  model::StringId internal;
  uint32_t forward = ForwardStacks::kNone;

  static constexpr uint32_t bit(Word key) { return uint32_t{1} << static_cast<uint8_t>(key); }
  // False if the event has this key already.
  bool meet(Word key) {
    static_assert(Word::kCategory < Word{32});
    uint32_t met = key > Word::kOther && key <= Word::kCategory ? bit(key) : 0;
    bool first = (keys & met) == 0;
    keys |= met;
    return first;
  }
  bool has(Word key) const { return (keys & bit(key)) != 0; }
  // Does it have what an event of its action needs, and nothing that belongs to others?
  bool isUsual() const {
    if (action > model::Action::kOom) return has(Word::kAction);
    bool oom = action == model::Action::kOom;
    uint32_t place = bit(oom ? Word::kDeviceFree : Word::kAddr);
    uint32_t wanted = place | bit(Word::kAction) | bit(Word::kSize);
    return (keys & (wanted | bit(Word::kAddr) | bit(Word::kDeviceFree))) == wanted;
  }
};

// It keeps the last value of each column, because neighbouring events repeat them: hence its many
// members.
class Columns {
 public:
  Columns(model::Trace& trace, Values& values, Oddities& oddities);

  // Reserves space for the events and stacks that an input of this size can contain. Memory that is
  // never touched costs nothing, and growing would copy everything several times.
  void reserve(uint64_t input_bytes);

  // ---- events
  uint32_t addEvent(const EventRow& row);
  // Usual events (EventRow::isUsual) that are no oom.
  void addEvents(const RowBlock& block);
  void setField(EventRow& row, Value key, Value value);
  void setFields(EventRow& row, Items items);
  uint32_t addEvent(Items items);
  uint32_t addEventFromNode(uint32_t node);
  model::StringId compileContextOf(Value value) { return cachedText(last_context_, value); }
  model::StringId metadataOf(Value value) { return cachedText(last_metadata_, value); }
  // Is this a plausible size of an event? Larger ones are invalid; sums of a few thousand still
  // fit.
  static bool isSize(int64_t bytes) { return static_cast<uint64_t>(bytes) <= base::kMaxSizeBytes; }
  // Microseconds since 1970: up to the year 2255, where doubles stop being exact.
  static bool isTime(int64_t time_us) { return time_us >= 0 && time_us <= kLatestTime; }
  // Event rows have 32-bit numbers.
  size_t roomForEvents() const { return 0xfffffffe - events(); }
  size_t events() const { return trace_.events.size(); }
  // Extends the columns that only some events have to the last row.
  void finishEvents();

  // ---- handing rows on (event_chunk.h)
  void handOnTo(TakeChunk take) { take_ = std::move(take); }
  // Whole chunks of the rows so far. Cheap where there are none yet.
  void handOn(uint64_t bytes_read) {
    if (take_ && events() >= handed_on_ + kChunkRows) handOnRows(bytes_read);
  }
  // Rows were given another order after they were read, or were not handed on.
  void noteMoved() { rows_moved_ = true; }
  bool rowsMoved() const { return rows_moved_; }
  // The rows that follow belong to another list of the file.
  void endList(uint64_t bytes_read);

  // ---- frames and stacks
  std::optional<model::FrameId> addFrame(Items items);
  model::StackId addStack(std::span<const model::FrameId> frames) { return stacks_.intern(frames); }
  // The stack in any value of a "frames" key; reports unusable values.
  model::StackId stackOf(Value value, Place place);
  // Lists of texts that hold a stack of the forward pass.
  bool isForwardText(Value text) const { return ForwardStacks::isFrameText(values_.textOf(text)); }
  uint32_t addForward(Items texts);
  uint32_t addForward(std::span<const Value> texts) { return forward_.intern(texts); }
  // The list in any value of a "forward_frames" key; reports unusable values.
  uint32_t forwardOf(Value value, Place place);
  model::StackId withForward(model::StackId own, uint32_t forward) {
    return forward_.join(own, forward);
  }
  void finishForward() { forward_.finish(); }
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
  static constexpr size_t kChunkRows = 1 << 15;
  void handOnRows(uint64_t bytes_read);

  static constexpr int64_t kLatestTime = int64_t{1} << 53;

  model::StreamId otherStreamOf(uint64_t raw);
  model::Action actionOf(Value value);
  // The text of a value, which must not change from now on.
  model::StringId describedText(Value value);
  uint64_t sizeOf(Value value);
  void reportUnusual(const EventRow& row);
  // The frame in a value; invalid if it is not one.
  model::FrameId frameOf(Value value);
  FrameRow frameRow(Items items);
  using NoteParts = std::array<model::StringId, 4>;
  model::StringId noteOf(const NoteParts& parts);

  model::Trace& trace_;
  Values& values_;
  Oddities& oddities_;
  TakeChunk take_;  // empty: nobody wants chunks
  uint64_t handed_on_ = 0;
  uint32_t list_ = 0;
  bool rows_moved_ = false;
  base::PagesAhead pages_;
  FrameTable frames_;
  StackTable stacks_;
  ForwardStacks forward_;
  boost::unordered_flat_map<uint64_t, model::StreamId> streams_;
  boost::unordered_flat_map<uint32_t, model::PoolId> pools_;  // by index of the pair
  boost::unordered_flat_map<uint32_t, model::StackId> stack_of_node_;
  boost::unordered_flat_map<uint32_t, model::FrameId> frame_of_node_;
  boost::unordered_flat_set<uint32_t> frozen_;
  boost::unordered_flat_map<std::array<uint32_t, 4>, model::StringId> notes_;
  // The last value of a kind and its result: neighbours are usually alike.
  struct LastText {
    Value value;
    std::string_view text;
    model::StringId id;
  };
  model::StringId cachedText(LastText& last, Value value);
  LastText last_context_, last_metadata_, last_category_, last_internal_;
  // A compiled region as a stack of one frame, for events without a stack.
  model::StackId stackOfRegion(model::StringId region);
  boost::unordered_flat_map<uint32_t, model::StackId> stack_of_region_;  // by its text
  model::StringId last_region_;
  model::StackId last_region_stack_;
  boost::unordered_flat_map<uint32_t, uint32_t> forward_of_node_;
  uint64_t last_stream_raw_ = 0;
  model::StreamId last_stream_{0};
  uint64_t last_pair_[2] = {};
  Value last_pair_value_;
  Value last_pool_value_;
  model::PoolId last_pool_;
};

}  // namespace tidegauge::readers::torch
