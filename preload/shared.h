// Shared by the preloaded library and the recorder: one file in memory (memfd), mapped by both.
//
//   head       settings, counters of what was lost
//   functions  the cookie of each watched function (bpf/records.h), written by the recorder
//   launches   counted in place, by program, kernel and geometry
//   copies     summed in place, by program, direction and function
//   chunks     a thread takes one, fills it and returns it; the recorder reads after it
//
//   chunk: │ entry: type, bytes │ memory_record │ entry │ … │◄ written   (advanced by the thread)
//                                                   ▲ read               (advanced by the recorder)
//
// A killed thread leaves what it had written: an entry counts once `written` is after it. Nothing
// waits for anything. A program has its own number, its image: exec starts another one in the same
// process, and a pid may be reused. In the keys of both tables it replaces tgid. The file is
// sparse: unused parts take no memory. The recorder trusts nothing in here except what it wrote
// itself.
#pragma once

#include <linux/types.h>  // before records.h, which uses it

#include "bpf/records.h"

#define PRELOAD_MAGIC 0x74676731u
#define PRELOAD_FUNCTIONS 512
#define PRELOAD_LAUNCHES 65536
#define PRELOAD_COPIES 4096
#define PRELOAD_PROBES 32  // rows that are tried for one key
#define PRELOAD_CHUNK_BYTES 4096
#define PRELOAD_MOST_CHUNKS 262144  // 1 GiB
#define PRELOAD_FRAMES 127

enum preload_group {  // record::FunctionGroup
  PRELOAD_MEMORY,
  PRELOAD_CONTEXT,
  PRELOAD_COPY,
  PRELOAD_LAUNCH,
  PRELOAD_NAME,
};
struct preload_function {
  __u64 cookie;
  __u8 group;
  __u8 at_entry;
  __u8 reserved[6];
};

enum preload_entry_type {
  ENTRY_MEMORY = 1,    // memory_record; its stack is an id of the process
  ENTRY_SYSTEM,        // system_record: SYSTEM_EXEC (it begins), SYSTEM_FORK
  ENTRY_NAME,          // preload_name, then the text
  ENTRY_LAUNCH,        // launch_record
  ENTRY_STACK,         // preload_stack, then the frames, innermost first
  ENTRY_PYTHON_LINES,  // preload_lines, then a part of the table of lines of a code object
  ENTRY_PYTHON_CODE,   // python_code_record, after all parts of its table
  ENTRY_PYTHON_STACK,  // preload_python, then the frames (python_stack_record), before the stack
};
struct preload_entry {
  __u32 type;
  __u32 bytes;  // of the content; the next entry begins at the next multiple of 8
};
struct preload_name {
  __u64 handle, of;
  __u32 tgid, length;
};
struct preload_stack {
  __u32 tgid;
  __u32 frames;
  __s32 id;
  __u32 reserved;
};

struct preload_lines {
  __u32 number;  // of the code object, in this process
  __u32 at;      // in bytes, of its table
};
#define PRELOAD_LINES_BYTES 3072
struct preload_python {
  __s32 id;  // of the stack
  __u32 frames;
};

enum preload_row_state { ROW_FREE, ROW_BEING_MADE, ROW_READY, ROW_LEFT };
struct preload_launch {
  __u32 state;
  __u32 reserved;
  struct launch_key key;
  __u64 calls;
  __u64 padding;
};
TIDEGAUGE_CHECK_SIZE(preload_launch, 64);
struct preload_copy {
  __u32 state;
  __u32 reserved;
  struct copy_key key;
  struct copy_sum sum;
  __u64 padding[2];
};
TIDEGAUGE_CHECK_SIZE(preload_copy, 64);

enum preload_chunk_state { CHUNK_FREE, CHUNK_TAKEN, CHUNK_FULL };
struct preload_chunk {
  __u32 state;
  __u32 tgid;
  __u32 image;    // which program of the process
  __u32 written;  // bytes, by the thread
  __u32 read;     // bytes, by the recorder
  __u32 padding[11];
  __u8 bytes[PRELOAD_CHUNK_BYTES - 64];
};
TIDEGAUGE_CHECK_SIZE(preload_chunk, PRELOAD_CHUNK_BYTES);

struct preload_head {
  __u32 magic;
  __u32 recorder_tgid;
  __u32 functions;
  __u32 chunks;
  __u32 launch_arguments;
  __u8 take_stacks;
  __u8 launch_events;
  __u8 walk_python;
  __u8 python_refused;  // by a program: its CPython has its frames elsewhere
  __u32 next_image;     // counts programs
  __u32 next_chunk;     // start of the next search
  __u32 rounds;         // how often the recorder has read everything
  __u32 most_chunks;    // upper bound of the chunks ever taken
  __u32 is_closed;      // the recording is over: nothing more is read
  __u32 padding;
  __u64 losses[COUNT_KINDS];
};

struct preload_area {
  struct preload_head head;
  struct preload_function functions[PRELOAD_FUNCTIONS];
  struct preload_launch launches[PRELOAD_LAUNCHES];
  struct preload_copy copies[PRELOAD_COPIES];
  struct preload_chunk chunks[];  // head.chunks of them
};
