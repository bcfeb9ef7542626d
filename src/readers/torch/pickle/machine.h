// Machine: the stack machine for pickle and JSON. Both are streams of small steps ("here is a
// string", "here ends a dict"). The machine executes them and turns event dicts, frame dicts and
// lists of frames into rows and ids as soon as they are complete.
//
//   }  MARK  "action" "alloc" "addr" 1234 …  SETITEMS     stack: [list][event 17]
//
// Two ways of working:
//   quick    dicts and lists become rows and ids at once. Correct for every file of a pickler.
//   careful  every dict and list stays an object until the end, as in Python. Correct for any
//            file, even one that fills a container after its use. Slower, more memory.
// A quick machine that cannot process something correctly stops with needsCareful(), and the file
// is read again.
//
// Nothing here recurses, and nothing grows faster than the input is read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "readers/torch/columns/columns.h"
#include "readers/torch/values/memo.h"
#include "readers/torch/values/value.h"

namespace tidegauge::readers::torch {

inline constexpr uint64_t kProgressBytes = 4 << 20;  // between two reports of progress

enum class Mode : uint8_t { kQuick, kCareful };

class Machine {
 public:
  Machine(Columns& columns, Mode mode);

  // ---- steps; a false result means failed() or needsCareful()
  void push(Value value) { stack_.push_back({value, kNoSlot, false}); }
  void pushEmptyDict(uint64_t offset);
  void pushEmptyList(uint64_t offset);
  void mark() { marks_.push_back(stack_.size()); }
  bool setItem(uint64_t offset);
  bool setItems(uint64_t offset);
  bool append(uint64_t offset);
  bool appends(uint64_t offset);
  // Like appends(), but two integers become a pair: a tuple in a pickle is a list in JSON.
  bool appendsOrPair(uint64_t offset);
  bool tuple(uint64_t offset, size_t count);
  bool tupleFromMark(uint64_t offset);
  bool pop(uint64_t offset);
  bool popMark(uint64_t offset);
  bool dup(uint64_t offset);
  bool memoize(uint64_t offset) { return put(offset, memo_.used()); }
  bool put(uint64_t offset, uint64_t slot);
  bool get(uint64_t offset, uint64_t slot) {
    Value value = slot < memo_.size() ? memo_.at(slot) : Value();
    if (value.tag() <= Tag::kEmptyList) return getUnusual(offset, slot);
    push(value);
    return true;
  }
  bool hasTop() const { return stack_.size() > floor(); }
  Value top() const { return stack_.back().value; }

  // ---- for the scanner
  Memo& memo() { return memo_; }
  // Events that are rows already, each followed by another in the same list, maybe the last one,
  // too. Consecutive rows in one list are one value.
  void pushRows(uint32_t first_row, size_t count, bool more_list_items) {
    noteEvent(stack_.size());
    for (size_t i = 0; i < count; ++i) {
      Value event = Value::of(Tag::kEvent, first_row + i);
      bool joins = (i + 1 < count || more_list_items) && hasTop();
      if (!joins || !stack_.back().value.join(event)) push(event);
    }
  }

  // ---- result
  bool needsCareful() const { return needs_careful_; }
  bool failed() const { return failed_; }
  bool fail(uint64_t offset, std::string what,
            std::string hint = "The file is damaged: copy it again.");
  // The input ends too early: more bytes could fix it.
  bool failCutOff(uint64_t end, std::string what);
  bool isCutOff() const { return cut_off_; }
  base::Error& error() { return error_; }
  Mode mode() const { return mode_; }

 private:
  static constexpr size_t kNoDepth = SIZE_MAX;
  void noteEvent(size_t depth) { event_depth_ = std::min(event_depth_, depth); }

  static constexpr uint32_t kNoSlot = 0xffffffff;
  struct Entry {
    Value value;
    uint32_t slot = kNoSlot;  // memo slot of a container that this entry made
    bool owner = false;       // this entry made the container, so it may fill it
  };

  // Nothing below the last mark may be touched.
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  // Is there a run of rows where each should be a separate value?
  static bool hasRuns(Items items);
  // The same for the topmost `count` entries, or fewer if there are fewer.
  bool topHasRuns(size_t count) const;
  bool takeMark(uint64_t offset, size_t& begin);
  bool needCareful();
  bool getUnusual(uint64_t offset, uint64_t slot);
  bool fillDict(uint64_t offset, Entry& dict, Items items);
  bool fillList(uint64_t offset, Entry& list, Items items);
  bool appendToNode(Entry& target, Items items);
  // Gives a container that was empty until now its value, in the memo as well.
  bool become(Entry& entry, Value value);
  Items itemsFrom(size_t begin) const;
  Value pairAt(size_t begin);
  bool allFrames(Items items);

  Columns& columns_;
  Mode mode_;
  std::vector<Entry> stack_;
  std::vector<size_t> marks_;
  Memo memo_;
  size_t event_depth_ = kNoDepth;       // where on the stack the events of this list are
  std::vector<model::FrameId> frames_;  // scratch
  bool needs_careful_ = false;
  bool failed_ = false;
  bool cut_off_ = false;
  base::Error error_;
};

}  // namespace tidegauge::readers::torch
