// CPython's own frames, walked beside the native stack: file, function and line of each Python
// function, without the program's help and also where it was attached to late.
//
//   %fs ─► key ─► state of the thread ─► newest frame ─ previous ─► … ─► outermost
//                                          └ code object, instruction
//
// The walk only hashes until it finds a stack that was not sent before. The recorder describes the
// process (python_layout) and attaches python_code_freed; it puts the frames in place of the native
// frames of the evaluation loop. docs/decisions/0029
#pragma once

#include "../common.bpf.h"
#include "python_frame.h"
#include "python_records.h"

TABLE(pythons, HASH, __u32, struct python_layout, MAX_PROCESSES);
#define PYTHON_RING_BYTES (8 << 20)
RING(python_ring, PYTHON_RING_BYTES);
struct python_code_key {
  __u64 code;
  __u32 process;  // unwind_space::process
  __u32 reserved;
};
// The numbers of the code objects that were sent.
TABLE(python_codes, LRU_HASH, struct python_code_key, __u32, 131072);

#define MOST_PYTHON_THREADS 256  // that are searched for this one
// glibc's struct pthread: the first 32 keys are in it, others in blocks of 32.
#define KEYS_OF_THREAD 0x310
#define KEYS_IN_BLOCK 32
#define BLOCKS_OF_THREAD (KEYS_OF_THREAD + 16 * KEYS_IN_BLOCK)

struct python_walk {
  __u64 frame, hash;
  struct python_layout* layout;
  struct python_stack_record* into;  // 0: only the hash is needed
  __u32 process, frames;
};

static __always_inline __u64 wordAt(__u64 address) {
  __u64 word = 0;
  return bpf_probe_read_user(&word, sizeof(word), (const void*)address) ? 0 : word;
}

struct thread_search {
  __u64 state, thread;
  struct python_layout* layout;
};
static int nextPythonThread(__u32 i, struct thread_search* search) {
  struct python_layout* layout = search->layout;
  if (!search->state || wordAt(search->state + layout->thread_id) == search->thread) return 1;
  search->state = wordAt(search->state + layout->next_thread);
  return i == MOST_PYTHON_THREADS - 1 ? (search->state = 0, 1) : 0;
}

// The state of this thread; 0: it runs no Python. A thread's number is its %fs in all C libraries,
// so a state with another number is never taken.
static __noinline __u64 pythonThread(struct python_layout* layout) {
  struct task_struct* task = (struct task_struct*)bpf_get_current_task();
  __u64 own = BPF_CORE_READ(task, thread.fsbase), key = wordAt(layout->runtime + layout->key);
  if ((__u32)key) {  // it is initialised
    __u32 number = key >> 32;
    __u64 slots = own + KEYS_OF_THREAD;
    if (number >= KEYS_IN_BLOCK)
      slots = wordAt(own + BLOCKS_OF_THREAD + number / KEYS_IN_BLOCK * 8);
    __u64 state = wordAt(slots + number % KEYS_IN_BLOCK * 16 + 8);
    if (state && wordAt(state + layout->thread_id) == own) {
      layout->by_key = 1;
      return state;
    }
  }
  if (layout->by_key) return 0;
  // Another C library: the main interpreter's list.
  __u64 interpreter = wordAt(layout->runtime + layout->interpreters);
  struct thread_search search = {0, own, layout};
  if (interpreter) search.state = wordAt(interpreter + layout->threads);
  bpf_loop(MOST_PYTHON_THREADS, nextPythonThread, &search, 0);
  return search.state;
}

// ---- code objects ------------------------------------------------------------------------------
// The characters of a text, as they are in memory.
static __always_inline void copyText(const struct python_layout* layout, __u64 at,
                                     struct python_text* head, __u8* into, __u32 room) {
  head->state = 0;
  head->copied_bytes = 0;
  if (bpf_probe_read_user(head, 20, (const void*)(at + 16))) return;
  __u32 kind = (head->state >> layout->kind_shift) & 7;
  bool is_ascii = (head->state >> layout->kind_shift) & 16;
  __u64 bytes = head->length * kind;
  if (bytes > room) bytes = room;
  at += is_ascii ? layout->ascii_bytes : layout->unicode_bytes;
  if (!bpf_probe_read_user(into, bytes, (const void*)at)) head->copied_bytes = bytes;
}

// A new number; 0: there was no room, or this is not a code object.
static __always_inline __u32 sendCode(const struct python_walk* walk, __u64 code, __u32 most) {
  struct python_layout* layout = walk->layout;
  struct python_code_record* record = bpf_ringbuf_reserve(&python_ring, sizeof(*record) + most, 0);
  if (!record) return 0;
  __u32 number = nextNumber();
  record->kind = PYTHON_CODE;
  record->number = number;
  record->tgid = tgidNow();
  record->minor = layout->minor;
  record->first_line = 0;
  record->first_traceable = 0;
  record->lines_bytes = 0;
  record->copied_bytes = 0;
  bpf_probe_read_user(&record->first_line, 4, (const void*)(code + layout->first_line));
  if (layout->first_traceable)
    bpf_probe_read_user(&record->first_traceable, 4, (const void*)(code + layout->first_traceable));
  bpf_probe_read_user(record->text_at, sizeof(record->text_at),
                      (const void*)(code + layout->texts));
  copyText(layout, record->text_at[layout->name_word & 3], &record->name_head, record->name,
           PYTHON_NAME_BYTES);
  copyText(layout, record->text_at[layout->file_word & 3], &record->file_head, record->file,
           PYTHON_FILE_BYTES);
  __u64 lines = record->text_at[layout->lines_word & 3], bytes = wordAt(lines + 16);
  record->lines_bytes = bytes;
  if (bytes <= most && !bpf_probe_read_user(record + 1, bytes, (const void*)(lines + 32)))
    record->copied_bytes = bytes;
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  return number;
}
static __noinline __u32 sendSmallCode(const struct python_walk* walk, __u64 code) {
  return sendCode(walk, code, PYTHON_LINES_SMALL);
}
static __noinline __u32 sendMediumCode(const struct python_walk* walk, __u64 code) {
  return sendCode(walk, code, PYTHON_LINES_MEDIUM);
}
static __noinline __u32 sendLargeCode(const struct python_walk* walk, __u64 code) {
  return sendCode(walk, code, PYTHON_LINES_LARGE);
}

static __noinline __u32 numberOfCode(const struct python_walk* walk, __u64 code) {
  struct python_layout* layout = walk->layout;
  struct python_code_key key = {code, walk->process, 0};
  __u32* known = bpf_map_lookup_elem(&python_codes, &key);
  if (known) return *known;
  if (wordAt(code + 8) != layout->code_type) return 0;
  __u64 lines = wordAt(code + layout->texts + 8 * (layout->lines_word & 3));
  __u64 bytes = wordAt(lines + 16);
  __u32 number = bytes <= PYTHON_LINES_SMALL    ? sendSmallCode(walk, code)
                 : bytes <= PYTHON_LINES_MEDIUM ? sendMediumCode(walk, code)
                                                : sendLargeCode(walk, code);
  if (number) bpf_map_update_elem(&python_codes, &key, &number, BPF_ANY);
  return number;
}

// ---- frames ------------------------------------------------------------------------------------
// One frame: 0 to continue, 1 at the last. `word`: room for its window. `into` 0: only hash it.
static __always_inline int pythonFrame(__u32 i, struct python_walk* walk, __u64* word,
                                       struct python_stack_record* into) {
  struct python_layout* layout = walk->layout;
  __u32 bytes = layout->window_bytes;
  if (!walk->frame || bytes > 8 * PYTHON_WINDOW_WORDS ||
      bpf_probe_read_user(word, bytes, (const void*)(walk->frame + layout->window)))
    return 1;
  struct python_frame frame;
  readPythonFrame(layout, word, &frame);
  walk->frame = frame.previous;
  __u64 code = frame.code, place = frame.place;
  walk->frames = i + 1;
  if (!into) {
    walk->hash = mixed(mixed(walk->hash, code), place);
    return 0;
  }
  if (code) place |= (__u64)numberOfCode(walk, code) << 32;
  __u64 slot = i;
  asm volatile("" : "+r"(slot));  // checked here: Linux 6.1 forgets the bounds of what it kept
  if (slot < PYTHON_FRAMES) into->frame[slot] = place;
  return 0;
}
static int hashPythonFrame(__u32 i, struct python_walk* walk) {
  __u64 word[PYTHON_WINDOW_WORDS] = {};
  return pythonFrame(i, walk, word, 0);
}
// All programs together, one inside another, have 512 bytes of stack: here the record has the room.
static int keepPythonFrame(__u32 i, struct python_walk* walk) {
  struct python_stack_record* into = walk->into;
  return into ? pythonFrame(i, walk, into->window, into) : 1;
}

static __always_inline bool startPython(struct python_walk* walk, __u32 process, __u64 hash) {
  __u32 tgid = tgidNow();
  walk->hash = hash;
  walk->layout = bpf_map_lookup_elem(&pythons, &tgid);
  if (!walk->layout) return false;
  __u64 thread = pythonThread(walk->layout);
  if (!thread) return false;
  walk->frame = wordAt(thread + walk->layout->frame);
  if (!walk->layout->is_direct) walk->frame = wordAt(walk->frame + walk->layout->inner_frame);
  walk->process = process;
  walk->hash = mixed(hash, walk->layout->generation);
  return walk->frame;
}

// The hash of a stack, with its Python frames. Like sendPython(), not static: the verifier checks
// it once, not for each path to it.
__noinline __u64 withPython(__u64 hash, __u32 process) {
  struct python_walk walk = {};
  if (!startPython(&walk, process, hash)) return hash;
  bpf_loop(PYTHON_FRAMES, hashPythonFrame, &walk, 0);
  return walk.hash;
}

// Sends the Python frames of the stack `id`, before the stack. 0: it has none.
__noinline __u32 sendPython(__u32 id, __u32 process) {
  struct python_walk walk = {};
  if (!startPython(&walk, process, 0)) return 0;
  struct python_stack_record* record = bpf_ringbuf_reserve(&python_ring, sizeof(*record), 0);
  if (!record) return PYTHON_LOST;
  walk.into = record;
  bpf_loop(PYTHON_FRAMES, keepPythonFrame, &walk, 0);
  record->kind = PYTHON_STACK;
  record->id = id;
  record->tgid = tgidNow();
  record->frames = walk.frames;
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  return PYTHON_SENT;
}

// At the entry of the function that frees code objects: another one may get this address. Stacks
// that were sent before are sent again then.
SEC("uprobe")
int python_code_freed(struct pt_regs* ctx) {
  __u32 tgid = tgidNow();
  struct python_layout* layout = bpf_map_lookup_elem(&pythons, &tgid);
  struct unwind_space* space = bpf_map_lookup_elem(&spaces, &tgid);
  if (!layout || !space) return 0;
  struct python_code_key key = {PT_REGS_PARM1(ctx), space->process, 0};
  if (!bpf_map_delete_elem(&python_codes, &key)) __sync_fetch_and_add(&layout->generation, 1);
  return 0;
}
