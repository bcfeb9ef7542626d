// Where each version of CPython keeps its frames (struct python_layout). For the recorder and for
// the preloaded library: C and C++, without a library.
//
//   struct python_layout layout;
//   pythonLayoutOf(11, &layout)                      of 3.11; 0: not of 3.9 to 3.13
//   pythonDebugOffsets(word, count, &layout)         what 3.13 names itself; 0, or the problem
//
// The offsets of 3.9 to 3.12 were printed by offsetof() with the headers of CPython 3.9.18,
// 3.10.13, 3.11.2, 3.11.7 and 3.12.1.
#pragma once

// clang-format off
#include <linux/types.h>  // before the records, which use it
#include "python_records.h"
// clang-format on

#define PYTHON_FIRST 9
#define PYTHON_LAST 13
#define PYTHON_DEALLOC 48      // of tp_dealloc in a type
#define PYTHON_INTERPRETER 16  // of the interpreter in a thread's state, in 3.9 to 3.13

// A frame is read from `first` on; the others are places in it, in bytes.
static inline void pythonWindow(struct python_layout* it, __u16 first, __u16 previous, __u16 code,
                                __u16 instruction, __u16 last) {
  it->window = (__u8)first;
  it->window_bytes = (__u8)(last - first + 8);
  it->previous = (__u8)((previous - first) / 8);
  it->code = (__u8)((code - first) / 8);
  it->instruction = (__u8)((instruction - first) / 8);
  it->flags = (__u8)((last - first) / 8);
}

static inline int pythonLayoutOf(__u32 minor, struct python_layout* it) {
  for (__u32 i = 0; i < sizeof(*it); ++i) ((unsigned char*)it)[i] = 0;
  if (minor < PYTHON_FIRST || minor > PYTHON_LAST) return 0;
  it->minor = minor;
  it->next_thread = 8;
  it->owner_shift = it->entry_shift = it->first_shim = it->generator = PYTHON_NONE;
  it->kind_shift = 2;
  it->ascii_bytes = minor <= 11 ? 48 : 40;
  it->unicode_bytes = minor <= 11 ? 72 : 56;
  it->texts = minor <= 10 ? 104 : 112;  // file, name, qualified name (from 3.11 on), lines
  it->name_word = minor <= 10 ? 1 : 2;
  it->lines_word = minor <= 10 ? 2 : 3;
  if (minor <= 10) {
    it->key = 584;
    it->interpreters = 32;
    it->threads = 8;
    it->thread_id = 176;
    it->frame = 24;
    it->is_direct = 1;
    __u16 instruction = minor == 9 ? 104 : 96;
    pythonWindow(it, 24, 24, 32, instruction, instruction);
    it->is_number = minor == 9 ? 2 : 1;
    it->first_line = 40;
    return 1;
  }
  it->generator = 1;
  it->first_shim = minor == 11 ? PYTHON_NONE : 3;
  if (minor == 11) {
    it->key = 592;
    it->interpreters = 40;
    it->threads = 16;
    it->thread_id = 152;
    it->frame = 56;
    it->inner_frame = 8;
    pythonWindow(it, 32, 48, 32, 56, 64);
    it->entry_shift = 32;
    it->owner_shift = 40;
    it->instructions = 184;
    it->first_line = 72;
    it->first_traceable = 168;
    return 1;
  }
  pythonWindow(it, 0, 8, 0, 56, 64);
  it->owner_shift = 48;
  it->first_line = 68;
  if (minor == 12) {
    it->key = 1544;
    it->interpreters = 40;
    it->threads = 72;
    it->thread_id = 136;
    it->frame = 56;
    it->inner_frame = 0;
    it->instructions = 192;
    it->first_traceable = 176;
    return 1;
  }
  it->key = 2160;  // of 3.13.0; another place is found out by the walk, which then takes the list
  it->interpreters = 632;
  it->threads = 7344;
  it->thread_id = 152;
  it->frame = 72;
  it->is_direct = 1;
  it->instructions = 200;
  it->first_traceable = 184;
  return 1;
}

// The words of _Py_DebugOffsets of 3.13 that are needed, by number.
enum python_debug_word {
  PYTHON_WORD_COOKIE,
  PYTHON_WORD_VERSION,
  PYTHON_WORD_FREE_THREADED,
  PYTHON_WORD_INTERPRETERS = 5,
  PYTHON_WORD_THREADS = 9,
  PYTHON_WORD_NEXT_THREAD = 21,
  PYTHON_WORD_THREAD_FRAME = 23,
  PYTHON_WORD_THREAD_ID = 24,
  PYTHON_WORD_FRAME_PREVIOUS = 29,
  PYTHON_WORD_FRAME_CODE = 30,
  PYTHON_WORD_FRAME_INSTRUCTION = 31,
  PYTHON_WORD_FRAME_OWNER = 33,
  PYTHON_WORD_CODE_FILE = 35,
  PYTHON_WORD_CODE_QUALNAME = 37,
  PYTHON_WORD_CODE_LINES = 38,
  PYTHON_WORD_CODE_FIRST_LINE = 39,
  PYTHON_WORD_CODE_INSTRUCTIONS = 43,
  PYTHON_DEBUG_WORDS,
};
#define PYTHON_DEBUG_COOKIE 0x7970677562656478ULL  // "xdebugpy"

// `word`: the begin of _PyRuntime. Returns the problem, or 0.
static inline const char* pythonDebugOffsets(const __u64* word, __u32 words,
                                             struct python_layout* layout) {
  const char* unreadable = "its table of offsets (_Py_DebugOffsets) cannot be read";
  if (words < PYTHON_DEBUG_WORDS || word[PYTHON_WORD_COOKIE] != PYTHON_DEBUG_COOKIE)
    return unreadable;
  if (word[PYTHON_WORD_FREE_THREADED] != 0) return "it is a free-threaded build";
  if ((word[PYTHON_WORD_VERSION] >> 16 & 0xff) != layout->minor) return unreadable;
  // What the walk reads together must be together.
  __u64 previous = word[PYTHON_WORD_FRAME_PREVIOUS], code = word[PYTHON_WORD_FRAME_CODE];
  __u64 instruction = word[PYTHON_WORD_FRAME_INSTRUCTION], owner = word[PYTHON_WORD_FRAME_OWNER];
  __u64 end = owner / 8 * 8 + 8, file = word[PYTHON_WORD_CODE_FILE];
  if (previous % 8 != 0 || previous >= end || code % 8 != 0 || code >= end ||
      instruction % 8 != 0 || instruction >= end)
    return "its frames are of another form";
  if (end > 8 * PYTHON_WINDOW_WORDS || word[PYTHON_WORD_CODE_QUALNAME] != file + 16 ||
      word[PYTHON_WORD_CODE_LINES] != file + 24)
    return "its code objects are of another form";
  layout->interpreters = (__u32)word[PYTHON_WORD_INTERPRETERS];
  layout->threads = (__u32)word[PYTHON_WORD_THREADS];
  layout->next_thread = (__u16)word[PYTHON_WORD_NEXT_THREAD];
  layout->thread_id = (__u16)word[PYTHON_WORD_THREAD_ID];
  layout->frame = (__u16)word[PYTHON_WORD_THREAD_FRAME];
  pythonWindow(layout, 0, (__u16)previous, (__u16)code, (__u16)instruction, (__u16)(end - 8));
  layout->owner_shift = (__u8)(owner % 8 * 8);
  layout->texts = (__u16)file;
  layout->first_line = (__u16)word[PYTHON_WORD_CODE_FIRST_LINE];
  if (layout->instructions != (__u16)word[PYTHON_WORD_CODE_INSTRUCTIONS])
    layout->first_traceable = 0;
  layout->instructions = (__u16)word[PYTHON_WORD_CODE_INSTRUCTIONS];
  return 0;
}
