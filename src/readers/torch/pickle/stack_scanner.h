// StackScanner: reads the list of frames of an event, whose frames the memo knows.
//
//   ] 94 ( h 30 h 31 j … e    →  StackId, and the list in the memo
//
// A program that runs in a loop allocates at the same places in the same order. So the list is
// first compared with the bytes of the list that came after the last one's equal before:
//
//   earlier   … [list A] … [list B] …         now   … [list A] … [?]    is it B again?
//
// Cost: for such a list, one comparison of its bytes. Else one look into the memo per frame, one
// hash and one lookup; 16 bytes per distinct stack.
#pragma once

#include <cstdint>
#include <vector>

#include "readers/torch/columns/columns.h"
#include "readers/torch/values/memo.h"

namespace tidegauge::readers::torch {

class StackScanner {
 public:
  // A stack with more frames is left to the machine.
  static constexpr size_t kMaxFrames = 999;

  StackScanner(Columns& columns, Memo& memo, const uint8_t* begin, const uint8_t* end)
      : columns_(columns), memo_(memo), begin_(begin), end_(end), frames_(kMaxFrames) {
    // Memory that is never touched costs nothing; growing copies everything.
    constexpr ptrdiff_t kBytesPerStack = 512;
    seen_.reserve(static_cast<size_t>((end - begin) / kBytesPerStack));
  }

  // `at` is an EMPTY_LIST. Values from `first_slot` on are incomplete. On failure the memo may have
  // grown, and `at` may have moved.
  bool scan(const uint8_t*& at, uint64_t first_slot, model::StackId& stack);

 private:
  // The list that probably comes next, if it is here. Its bytes end where `at` is then.
  bool scanLikely(const uint8_t*& at, model::StackId& stack);
  void remember(model::StackId stack, const uint8_t* begin, const uint8_t* end);
  bool scanFrames(const uint8_t*& at, uint64_t first_slot, size_t& count);

  Columns& columns_;
  Memo& memo_;
  const uint8_t* begin_;
  const uint8_t* end_;
  std::vector<model::FrameId> frames_;

  // Where a stack's list was last, from MARK to APPENDS, and the stack that followed it.
  struct Seen {
    uint64_t offset = 0;
    uint32_t bytes = 0;  // 0: never
    model::StackId next;
  };
  std::vector<Seen> seen_;  // by StackId
  model::StackId last_;
  uint64_t replaced_ = 0;  // of the memo, when seen_ was begun
};

}  // namespace tidegauge::readers::torch
