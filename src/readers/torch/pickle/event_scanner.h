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
#include <optional>
#include <vector>

#include "readers/torch/columns/columns.h"
#include "readers/torch/pickle/event_shape.h"
#include "readers/torch/pickle/stack_scanner.h"
#include "readers/torch/values/memo.h"

namespace tidegauge::readers::torch {

class EventScanner {
 public:
  EventScanner(Columns& columns, Memo& memo, StackScanner& stacks, const uint8_t* begin,
               const uint8_t* end)
      : columns_(columns), memo_(memo), stacks_(stacks), begin_(begin), end_(end) {}

  // `at` is the byte after EMPTY_DICT. On success, `at` is the byte after its SETITEMS and the
  // event is the last row. Otherwise nothing has changed.
  bool scanEvent(const uint8_t*& at, EventRow& row);

  // Where the event lies that was just read; absent if it named the slots that it memoized, so that
  // its bytes are like those of no other.
  std::optional<ScannedEvent> lastEvent() const;

 private:
  // An event with more keys is left to the machine.
  static constexpr int kMaxKeys = 32;

  bool scanFields(EventRow& row);
  bool scanField(EventRow& row, Word word);
  bool scanMemo(Value value);
  bool scanReference(Value& value);
  bool scanString(Value& value);
  bool scanTextOrReference(Value& value);
  bool scanStack(EventRow& row);
  bool scanForward(EventRow& row);
  bool scanTexts();

  Columns& columns_;
  Memo& memo_;
  StackScanner& stacks_;
  const uint8_t* begin_;
  const uint8_t* end_;
  const uint8_t* at_ = nullptr;
  const uint8_t* begin_of_event_ = nullptr;
  Memo::Mark mark_{};
  uint64_t first_slot_ = 0;  // of this event; values from there on are incomplete
  bool numbered_ = false;    // it used BINPUT
  std::vector<ScannedField> fields_;
  std::vector<Value> texts_;  // scratch
};

}  // namespace tidegauge::readers::torch
