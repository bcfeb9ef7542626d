// EventScanner: a fast path for most of a snapshot. Nearly all of a large file is event dicts of
// one shape, written with a few opcodes. They are read in one pass, without the machine's stack:
//
//   }  94  (  h 1a h 1b   h 1c 8a 06 …   …   j … ] 94 ( h 30 h 31 … e   u
//      memo   key action  key address       key  list of known frames
//
// Anything that is not exactly of that shape is left to the machine, which can read everything; the
// scanner has changed nothing then. So this file may be removed without changing any result.
#pragma once

#include <cstdint>
#include <vector>

#include "readers/torch/pickle/columns.h"
#include "readers/torch/pickle/memo.h"

namespace tidegauge::readers::torch {

class EventScanner {
 public:
  EventScanner(Columns& columns, Memo& memo, const uint8_t* begin, const uint8_t* end)
      : columns_(columns), memo_(memo), begin_(begin), end_(end), frames_(kMaxFrames) {}

  // `at` is the byte after EMPTY_DICT. On success, `at` is the byte after its SETITEMS and the
  // event is a row. Otherwise nothing has changed.
  bool scanEvent(const uint8_t*& at, uint32_t& row);

 private:
  // An event with more keys, or a stack with more frames, is left to the machine.
  static constexpr int kMaxKeys = 32;
  static constexpr size_t kMaxFrames = 999;
  // The longest of: a key, an integer, a reference, three opcodes. With fewer bytes left, the
  // machine reads.
  static constexpr ptrdiff_t kLookAhead = 32;

  bool scanFields(EventRow& row);
  bool scanField(EventRow& row, Word word);
  bool scanMemo(Value value);
  bool scanInteger(int64_t& number);
  bool scanReference(Value& value);
  bool scanString(Value& value);
  bool scanTextOrReference(Value& value);
  bool scanStack(EventRow& row);
  bool scanFrames(size_t& count);
  bool scanForward(EventRow& row);
  bool scanTexts();

  Columns& columns_;
  Memo& memo_;
  const uint8_t* begin_;
  const uint8_t* end_;
  const uint8_t* at_ = nullptr;
  uint64_t first_slot_ = 0;  // of this event; values from there on are incomplete
  std::vector<model::FrameId> frames_;
  std::vector<Value> texts_;  // scratch
};

}  // namespace tidegauge::readers::torch
