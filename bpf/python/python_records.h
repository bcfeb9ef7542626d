// What the walk of CPython's own frames (python.bpf.h) takes from the recorder and sends to it.
//
//   pythons[tgid] = where that version of CPython keeps its frames ──► walk
//   walk ──python_ring──► one record per new stack, one per new code object
//
// A code object is sent once, with its names and its table of lines, while a frame holds it: it
// cannot change or be freed meanwhile.
#pragma once

#ifdef __cplusplus
#include <linux/types.h>
#define TIDEGAUGE_CHECK_PYTHON_SIZE(type, bytes) static_assert(sizeof(struct type) == bytes)
#else
#define TIDEGAUGE_CHECK_PYTHON_SIZE(type, bytes) _Static_assert(sizeof(struct type) == bytes, #type)
#endif

// Offsets in bytes, for one process. `window` is the part of a frame that is read at once; the
// places in it are words.
#define PYTHON_WINDOW_WORDS 16
#define PYTHON_NONE 255  // of the one-byte fields: there is no such thing in this version
struct python_layout {
  __u64 runtime;     // address of _PyRuntime
  __u64 code_type;   // address of PyCode_Type: what every code object points to
  __u32 generation;  // grows when a code object is freed that was sent: its address may be reused
  __u32 by_key;      // 1: the thread's key was found to lead to its state
  __u32 minor;       // of 3.minor
  // In the runtime, an interpreter, the state of a thread.
  __u32 key;           // of the thread's own state
  __u32 interpreters;  // the first one
  __u32 threads;       // the first one of an interpreter
  __u16 next_thread;
  __u16 thread_id;
  __u16 frame;        // of the newest frame, or of the struct that points to it
  __u16 inner_frame;  // in that struct
  __u8 is_direct;     // 1: there is no such struct
  // In a frame.
  __u8 window;
  __u8 window_bytes;
  __u8 previous;
  __u8 code;
  __u8 instruction;
  __u8 flags;
  __u8 owner_shift;  // in `flags`; PYTHON_NONE: every frame was entered from C
  __u8 entry_shift;  // in `flags`: whether the frame was entered from C
  __u8 first_shim;   // from this owner on: a mark at an entry from C, not a frame
  __u8 generator;    // this owner: a generator or coroutine
  __u8 is_number;  // `instruction` is a number, not an address: 1 of two bytes each, 2 of one byte
  // In a code object: four words from `texts` on are read at once.
  __u16 texts;
  __u8 file_word;
  __u8 name_word;
  __u8 lines_word;
  __u8 kind_shift;  // in the state of a text
  __u16 instructions;
  __u16 first_line;
  __u16 first_traceable;  // 0: none
  // In a text.
  __u8 ascii_bytes;    // its head, before the characters
  __u8 unicode_bytes;  // the same if it has other characters than ASCII
  __u8 reserved[6];
};
TIDEGAUGE_CHECK_PYTHON_SIZE(python_layout, 80);

// stack_record::python: what became of the frames; 0: there are none.
#define PYTHON_SENT 2
#define PYTHON_LOST 4  // they found no room

enum python_record { PYTHON_STACK = 1, PYTHON_CODE };

// The frames of one stack, innermost first: number of the code object << 32, flags, and the place
// of the instruction in units of two bytes. Number 0: only a mark.
#define PYTHON_FRAMES 256
#define PYTHON_ENTRY (1U << 31)  // entered from C: the last frame of one evaluation loop
#define PYTHON_GENERATOR (1U << 30)
#define PYTHON_PLACE 0x3fffffffU
struct python_stack_record {
  __u32 kind;
  __u32 id;  // stack_record::id
  __u32 tgid;
  __u32 frames;
  __u64 frame[PYTHON_FRAMES];
  __u64 window[PYTHON_WINDOW_WORDS];  // the walk's room
};
TIDEGAUGE_CHECK_PYTHON_SIZE(python_stack_record, 2192);

struct python_text {
  __u64 length;  // characters
  __u64 hash;
  __u32 state;  // bytes per character: see kind_shift
  __u32 copied_bytes;
};
#define PYTHON_NAME_BYTES 256
#define PYTHON_FILE_BYTES 1024
struct python_code_record {
  __u32 kind;
  __u32 number;
  __u32 tgid;
  __u32 minor;
  __s32 first_line;
  __s32 first_traceable;
  __u32 lines_bytes;   // of the table
  __u32 copied_bytes;  // of it, after this struct
  __u64 text_at[4];
  struct python_text name_head;
  struct python_text file_head;
  __u8 name[PYTHON_NAME_BYTES];
  __u8 file[PYTHON_FILE_BYTES];
};
TIDEGAUGE_CHECK_PYTHON_SIZE(python_code_record, 1392);
// Room for the table of lines, in one of these sizes; the lines of a longer one are unknown.
#define PYTHON_LINES_SMALL 1024
#define PYTHON_LINES_MEDIUM 16384
#define PYTHON_LINES_LARGE (256 << 10)
