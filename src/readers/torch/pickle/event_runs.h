// EventRuns: the fastest path, for most of a large file. It reads runs of events that have the
// shape of earlier ones (event_shape.h), a block of rows at a time.
//
//   } shape 1   } shape 1   } shape 2   } shape 1   } other
//   └───────────────── one block ──────────────────┘ EventScanner reads this one, and it is learnt
//
// References to stacks are looked up at the end of a block, all together: each is a miss of the
// cache, and the processor waits for many at a time.
//
// Cost: some 45 ns per event whose stack is a reference. Removing this file changes no result.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "readers/torch/columns/row_block.h"
#include "readers/torch/pickle/event_shape.h"
#include "readers/torch/pickle/stack_scanner.h"

namespace tidegauge::readers::torch {

class EventRuns {
 public:
  EventRuns(Columns& columns, Memo& memo, StackScanner& stacks, const uint8_t* end);

  // `at` is the byte after an EMPTY_DICT. Reads at most a block of events, each right after the
  // other, and returns their number; `at` is then the byte after the last SETITEMS. `first_row` is
  // the row of the first. With 0, nothing has changed.
  size_t scan(const uint8_t*& at, uint32_t& first_row);

  void learn(const ScannedEvent& event, const EventRow& row);

 private:
  static constexpr size_t kMaxShapes = 8;
  static constexpr int kFirstCredit = 256;
  static constexpr int kMaxCredit = 4096;
  static constexpr int kLearnCost = 8;  // in events that were recognised

  size_t scanBlock(const uint8_t*& at, size_t most);
  bool scanKnown(const uint8_t*& at);
  bool scanEvent(const EventShape& shape, const uint8_t*& at);
  // The stacks that rows refer to. Returns the number of rows before the first that does not refer
  // to one.
  size_t lookUpStacks();
  void forgetIfReplaced();

  struct Reference {
    uint32_t row;
    uint32_t slot;
  };
  struct Known {
    std::unique_ptr<EventShape> shape;
    size_t next = 0;  // the one that followed it
  };

  Columns& columns_;
  Memo& memo_;
  StackScanner& stacks_;
  const uint8_t* end_;
  std::vector<Known> shapes_;
  size_t last_ = 0;     // the shape of the last event
  size_t replace_ = 0;  // the shape that a new one replaces
  // Learning is paid by recognising: a file without two equal events learns a few times only.
  int credit_ = kFirstCredit;
  // Fewer after a block whose rows had to be dropped: a file may have one at every other event.
  size_t most_rows_ = RowBlock::kRows;
  uint64_t replaced_ = 0;  // of the memo, when the shapes were learnt
  uint32_t first_row_ = 0;
  RowBlock block_;
  std::array<Reference, RowBlock::kRows> references_;
  size_t reference_count_ = 0;
};

}  // namespace tidegauge::readers::torch
