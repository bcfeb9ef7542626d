// What one frame of CPython shows: its code object, the place in it, and the next frame. The rule
// for the kernel's walk (python.bpf.h) and that of the preloaded library (preload/python.c).
//
//   window of a frame, read from layout.window on ─► code 0x7f00, place 17, PYTHON_ENTRY
#pragma once

// clang-format off
#include <linux/types.h>  // before the records, which use it
#include "python_records.h"
// clang-format on

struct python_frame {
  __u64 code;   // 0: only a mark
  __u64 place;  // as in python_stack_record::frame, without a number
  __u64 previous;
};

static inline __attribute__((always_inline)) void readPythonFrame(
    const struct python_layout* layout, const __u64* word, struct python_frame* frame) {
  __u64 code = word[layout->code & 15] & ~7ULL, at = word[layout->instruction & 15];
  __u64 flags = word[layout->flags & 15];
  __u32 marks = PYTHON_ENTRY;
  int is_frame = 1;
  frame->previous = word[layout->previous & 15];
  if (layout->owner_shift != PYTHON_NONE) {
    __u8 owner = (__u8)(flags >> (layout->owner_shift & 63));
    is_frame = owner < layout->first_shim;
    if (is_frame) marks = owner == layout->generator ? PYTHON_GENERATOR : 0;
    if (layout->entry_shift != PYTHON_NONE && (flags >> (layout->entry_shift & 63) & 0xff))
      marks |= PYTHON_ENTRY;
  }
  if (layout->is_number)
    at = (__u32)at >> ((layout->is_number - 1) & 1);
  else
    at = (at - code - layout->instructions) >> 1;
  frame->code = is_frame ? code : 0;
  frame->place = is_frame ? marks | (at & PYTHON_PLACE) : PYTHON_ENTRY;
}
