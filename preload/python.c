// The Python frames of this thread, walked beside its native stack: CPython 3.9 to 3.13, as the
// kernel's walk (bpf/python/python.bpf.h), by the same table and the same rule for a frame.
//
//   key ─► state of the thread ─► newest frame ─ previous ─► … ─► outermost
//                                  └ code object, instruction
//
// It takes no lock of the interpreter; of its functions it calls only the one that says whether it
// ends. A thread that is in a call of CUDA is in the newest of its frames, so its frames cannot
// change meanwhile. They are freed under it only when the interpreter ends: then the main thread
// frees those of all others. So the main thread reads its frames as they are, and the others by
// reads that cannot fault (process_vm_readv). That the frames are where the table says is checked
// first, once per thread, by such reads; if they are not, nothing is walked in this process. Code
// objects, once each, are always read by such calls.
//
// A code object that is freed may be followed by another one at its address. So tp_dealloc of their
// type is replaced by codeFreed(), which passes the call on. Cost: some ns per frame and call, in
// other threads than the main one a system call per frame; a code object some µs, once.
// docs/decisions/0029
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bpf/python/python_frame.h"
#include "bpf/python/python_layouts.h"
#include "preload/shim.h"

// Exported by every CPython: by the program, or by a library that it needs.
#define OF_PYTHON __attribute__((weak, visibility("default")))
extern OF_PYTHON char _PyRuntime[];
extern OF_PYTHON char PyCode_Type[];
extern OF_PYTHON const unsigned long Py_Version;  // from 3.11 on
extern OF_PYTHON void Py_NewRef(void);            // from 3.10 on
extern OF_PYTHON void PyFrame_GetCode(void);      // from 3.9 on
extern OF_PYTHON int _Py_IsFinalizing(void);      // up to 3.12
extern OF_PYTHON int Py_IsFinalizing(void);       // from 3.13 on
_Static_assert(PYTHON_FRAMES_MOST == PYTHON_FRAMES, "room for all that are walked");

enum { NOT_LOOKED, ABSENT, PRESENT };
static uint32_t state;
static struct python_layout layout;
static uint32_t next_number;
enum { KEY_TRIES = 64, KEY_BYTES = 16384 };
static uint32_t key_tries;  // searches for the key in the runtime
enum { NO_HOOK, BEING_HOOKED, HOOKED };
static uint32_t hook;  // HOOKED: code objects that are freed are seen
static void (*free_code)(void* code);

// Grows when a code object that was sent is freed, by its address: another stack from then on.
enum { GENERATIONS = 4096, CODES = 65536, CODE_TRIES = 16 };
static uint32_t generations[GENERATIONS];
struct code_row {
  uint64_t code;
  uint64_t number;  // 0: the row is free
};
static struct code_row* codes;
static uint32_t codes_lock;

static uint64_t spread(uint64_t address) { return address * 0x9e3779b97f4a7c15u >> 40; }

// A read of this process's memory that fails where a plain one would end the program. Not by
// own_tgid, which is its number where the recorder runs.
static bool readChecked(uint64_t address, void* into, size_t bytes) {
  struct iovec local = {into, bytes}, remote = {(void*)(uintptr_t)address, bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}
static uint64_t wordChecked(uint64_t address) {
  uint64_t word = 0;
  return readChecked(address, &word, sizeof(word)) ? word : 0;
}
static uint64_t wordAt(uint64_t address) { return *(const uint64_t*)(uintptr_t)address; }
// An address that a program can have, of something that CPython aligns.
static bool isPlace(uint64_t address) {
  return address >= 4096 && address < 1ull << 47 && address % 8 == 0;
}

// ---- code objects that were sent -------------------------------------------------------------
static void lock(void) {
  for (int i = 1; __atomic_exchange_n(&codes_lock, 1, __ATOMIC_ACQUIRE) != 0; ++i)
    if (i % 64 == 0) sched_yield();
}
static void unlock(void) { __atomic_store_n(&codes_lock, 0, __ATOMIC_RELEASE); }

static uint32_t knownNumber(uint64_t code) {
  uint32_t number = 0;
  lock();
  for (uint32_t i = 0; i < CODE_TRIES && number == 0; ++i) {
    const struct code_row* row = &codes[(spread(code) + i) % CODES];
    if (row->code == code) number = (uint32_t)row->number;
  }
  unlock();
  return number;
}
static void keepNumber(uint64_t code, uint32_t number) {
  struct code_row* into = NULL;
  lock();
  for (uint32_t i = 0; i < CODE_TRIES; ++i) {
    struct code_row* row = &codes[(spread(code) + i) % CODES];
    if (row->code != code && row->number != 0) continue;
    if (into == NULL || row->code == code) into = row;
  }
  if (into != NULL) *into = (struct code_row){code, number};  // else it is sent again
  unlock();
}

// In place of tp_dealloc of PyCode_Type.
static void codeFreed(void* freed) {
  uint64_t code = (uint64_t)(uintptr_t)freed;
  lock();
  for (uint32_t i = 0; i < CODE_TRIES; ++i) {
    struct code_row* row = &codes[(spread(code) + i) % CODES];
    if (row->code != code || row->number == 0) continue;
    row->number = 0;
    __atomic_fetch_add(&generations[spread(code) % GENERATIONS], 1, __ATOMIC_RELAXED);
  }
  unlock();
  free_code(freed);
}

static bool replaceFree(void) {
  uint64_t at = (uint64_t)(uintptr_t)PyCode_Type + PYTHON_DEALLOC;
  uint64_t before = wordChecked(at);
  if (before == 0) return false;
  if (before == (uint64_t)(uintptr_t)codeFreed) return true;  // forked while it was replaced
  struct iovec same = {&before, sizeof(before)}, place = {(void*)(uintptr_t)at, sizeof(before)};
  // Whether it can be written to: the same is written there.
  if (process_vm_writev(getpid(), &same, 1, &place, 1, 0) != (ssize_t)sizeof(before))
    return false;
  free_code = (void (*)(void*))(uintptr_t)before;
  __atomic_store_n((uint64_t*)(uintptr_t)at, (uint64_t)(uintptr_t)codeFreed, __ATOMIC_RELEASE);
  return true;
}

static bool seeFreed(void) {
  uint32_t is = NO_HOOK;
  if (__atomic_compare_exchange_n(&hook, &is, BEING_HOOKED, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    is = replaceFree() ? HOOKED : NO_HOOK;
    __atomic_store_n(&hook, is, __ATOMIC_RELEASE);
    return is == HOOKED;
  }
  while ((is = __atomic_load_n(&hook, __ATOMIC_ACQUIRE)) == BEING_HOOKED) sched_yield();
  return is == HOOKED;
}

// ---- which CPython ---------------------------------------------------------------------------
static uint32_t minorOf(void) {
  if (&Py_Version != NULL) return Py_Version >> 24 == 3 ? (uint32_t)(Py_Version >> 16 & 0xff) : 0;
  return Py_NewRef != NULL ? 10 : PyFrame_GetCode != NULL ? 9 : 0;
}

static bool isEnding(void) {
  return (Py_IsFinalizing != NULL && Py_IsFinalizing()) ||
         (_Py_IsFinalizing != NULL && _Py_IsFinalizing());
}

// Nothing of this process is walked any more, and the recorder says so.
static bool refuse(void) {
  __atomic_store_n(&state, ABSENT, __ATOMIC_RELEASE);
  __atomic_store_n(&area->head.python_refused, 1, __ATOMIC_RELAXED);
  return false;
}

static bool find(void) {
  if (_PyRuntime == NULL || PyCode_Type == NULL || !area->head.walk_python) return false;
  if (!pythonLayoutOf(minorOf(), &layout)) return false;
  uint64_t tried = 1;
  if (wordChecked((uint64_t)(uintptr_t)&tried) != tried) return refuse();  // a sandbox forbids it
  layout.runtime = (uint64_t)(uintptr_t)_PyRuntime;
  layout.code_type = (uint64_t)(uintptr_t)PyCode_Type;
  __u64 word[PYTHON_DEBUG_WORDS];
  if (layout.minor >= 13 && (!readChecked(layout.runtime, word, sizeof(word)) ||
                             pythonDebugOffsets(word, PYTHON_DEBUG_WORDS, &layout) != NULL))
    return false;
  codes = mmap(NULL, CODES * sizeof(*codes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
               -1, 0);
  return codes != MAP_FAILED;
}

bool preparePython(void) {
  uint32_t is = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
  if (is != NOT_LOOKED) return is == PRESENT;
  is = find() ? PRESENT : ABSENT;
  __atomic_store_n(&state, is, __ATOMIC_RELEASE);
  return is == PRESENT;
}

void pythonInChild(void) {
  codes_lock = 0;
  if (hook == BEING_HOOKED) hook = NO_HOOK;  // by a thread that is not here
  if (codes != NULL && codes != MAP_FAILED) madvise(codes, CODES * sizeof(*codes), MADV_DONTNEED);
  next_number = 0;
}

// ---- the walk --------------------------------------------------------------------------------
// The state of this thread, by the word with the interpreter's key; 0: it runs no Python.
static uint64_t stateOf(uint64_t key, uint64_t (*read)(uint64_t)) {
  if ((uint32_t)key == 0) return 0;  // not initialised
  uint64_t thread = (uint64_t)(uintptr_t)pthread_getspecific((pthread_key_t)(key >> 32));
  return isPlace(thread) && read(thread + layout.thread_id) == (uint64_t)pthread_self() ? thread
                                                                                        : 0;
}

// A release may have moved the key: it is then the word of the runtime that leads to this thread.
static void findKey(void) {
  if (__atomic_load_n(&key_tries, __ATOMIC_RELAXED) >= KEY_TRIES) return;
  __atomic_fetch_add(&key_tries, 1, __ATOMIC_RELAXED);
  uint64_t word[64];
  for (uint32_t at = 0; at < KEY_BYTES && readChecked(layout.runtime + at, word, sizeof(word));
       at += sizeof(word))
    for (uint32_t i = 0; i < 64; ++i)
      if ((uint32_t)word[i] == 1 && stateOf(word[i], wordChecked) != 0) {
        __atomic_store_n(&layout.key, at + 8 * i, __ATOMIC_RELAXED);
        return;
      }
}

// The newest frame; 0: this thread runs no Python.
static uint64_t newestFrame(uint64_t (*read)(uint64_t)) {
  uint64_t key = wordAt(layout.runtime + __atomic_load_n(&layout.key, __ATOMIC_RELAXED));
  uint64_t thread = stateOf(key, read);
  if (thread == 0) return 0;
  uint64_t frame = read(thread + layout.frame);
  if (!layout.is_direct && frame != 0) frame = read(frame + layout.inner_frame);
  return isPlace(frame) ? frame : 0;
}

// Each frame must have a code object.
static bool isAsInTable(void) {
  uint64_t at = newestFrame(wordChecked);
  __u64 word[PYTHON_WINDOW_WORDS] = {0};
  for (uint32_t i = 0; i < PYTHON_FRAMES && at != 0; ++i) {
    struct python_frame frame;
    if (!readChecked(at + layout.window, word, layout.window_bytes)) return false;
    readPythonFrame(&layout, word, &frame);
    if (frame.code != 0 && wordChecked(frame.code + 8) != layout.code_type) return false;
    at = frame.previous;
    if (at != 0 && !isPlace(at)) return false;
  }
  return true;
}

uint64_t walkPython(struct python_walked* walked) {
  walked->count = 0;
  if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != PRESENT || isEnding()) return 0;
  if (!own.python_checked) {
    if (newestFrame(wordChecked) == 0) {
      findKey();
      if (newestFrame(wordChecked) == 0) return 0;
    } else {
      __atomic_store_n(&key_tries, KEY_TRIES, __ATOMIC_RELAXED);  // it is the right one
    }
    if (!isAsInTable() || !seeFreed()) {
      (void)refuse();
      return 0;
    }
    own.python_checked = true;
    own.is_main = syscall(SYS_gettid) == getpid();
  }
  uint64_t at = newestFrame(own.is_main ? wordAt : wordChecked), hash = 0;
  while (at != 0 && walked->count < PYTHON_FRAMES) {
    struct python_frame frame;
    __u64 copied[PYTHON_WINDOW_WORDS];
    const __u64* word = (const __u64*)(uintptr_t)(at + layout.window);
    if (!own.is_main) {
      if (!readChecked(at + layout.window, copied, layout.window_bytes)) {
        walked->count = 0;
        return 0;
      }
      word = copied;
    }
    readPythonFrame(&layout, word, &frame);
    walked->code[walked->count] = frame.code;
    walked->place[walked->count++] = (uint32_t)frame.place;
    uint64_t generation =
        __atomic_load_n(&generations[spread(frame.code) % GENERATIONS], __ATOMIC_RELAXED);
    hash = (hash ^ frame.code ^ generation << 48) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 29 ^ frame.place) * 0x9e3779b97f4a7c15u;
    at = isPlace(frame.previous) ? frame.previous : 0;
  }
  return hash ^ hash >> 29;
}

// ---- what is sent ----------------------------------------------------------------------------
static void copyText(uint64_t at, struct python_text* head, uint8_t* into, uint32_t bytes_of_room) {
  struct python_text text = {0, 0, 0, 0};
  *head = text;
  if (!readChecked(at + 16, &text, 20)) return;
  uint32_t kind = (text.state >> layout.kind_shift) & 7;
  bool is_ascii = (text.state >> layout.kind_shift) & 16;
  uint64_t bytes = text.length > bytes_of_room ? bytes_of_room : text.length * kind;
  if (bytes > bytes_of_room) bytes = bytes_of_room;
  at += is_ascii ? layout.ascii_bytes : layout.unicode_bytes;
  text.copied_bytes = readChecked(at, into, bytes) ? (uint32_t)bytes : 0;
  *head = text;
}

// The table of lines, in pieces that fit into a chunk.
static bool sendLines(uint32_t number, uint64_t from, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes;) {
    uint32_t piece = bytes - at < PRELOAD_LINES_BYTES ? bytes - at : PRELOAD_LINES_BYTES;
    struct preload_lines* lines =
        room(ENTRY_PYTHON_LINES, (uint32_t)sizeof(struct preload_lines) + piece);
    if (lines == NULL || !readChecked(from + at, lines + 1, piece)) return false;
    *lines = (struct preload_lines){number, at};
    publish();
    at += piece;
  }
  return true;
}

// 0: there was no room, or this is not a code object.
static uint32_t sendCode(uint64_t code) {
  if (wordChecked(code + 8) != layout.code_type) return 0;
  uint32_t number = __atomic_add_fetch(&next_number, 1, __ATOMIC_RELAXED);
  uint64_t text_at[4] = {0};
  if (!readChecked(code + layout.texts, text_at, sizeof(text_at))) return 0;
  uint64_t lines = text_at[layout.lines_word & 3], bytes = wordChecked(lines + 16);
  if (bytes > PYTHON_LINES_LARGE) bytes = 0;  // the lines are unknown
  if (!sendLines(number, lines + 32, (uint32_t)bytes)) return 0;
  struct python_code_record* record = room(ENTRY_PYTHON_CODE, sizeof(*record));
  if (record == NULL) return 0;
  memset(record, 0, sizeof(*record));
  record->kind = PYTHON_CODE;
  record->number = number;
  record->minor = layout.minor;
  record->lines_bytes = (uint32_t)bytes;
  (void)readChecked(code + layout.first_line, &record->first_line, 4);
  if (layout.first_traceable)
    (void)readChecked(code + layout.first_traceable, &record->first_traceable, 4);
  copyText(text_at[layout.name_word & 3], &record->name_head, record->name, PYTHON_NAME_BYTES);
  copyText(text_at[layout.file_word & 3], &record->file_head, record->file, PYTHON_FILE_BYTES);
  publish();
  keepNumber(code, number);
  return number;
}

bool sendPython(const struct python_walked* walked, int32_t id) {
  uint64_t frames[PYTHON_FRAMES];
  for (uint32_t i = 0; i < walked->count; ++i) {
    uint64_t code = walked->code[i], number = 0;
    if (code != 0) number = knownNumber(code);
    if (code != 0 && number == 0) number = sendCode(code);
    if (code != 0 && number == 0) return false;
    frames[i] = number << 32 | walked->place[i];
  }
  struct preload_python* entry =
      room(ENTRY_PYTHON_STACK, (uint32_t)(sizeof(struct preload_python) + 8 * walked->count));
  if (entry == NULL) return false;
  *entry = (struct preload_python){id, walked->count};
  memcpy(entry + 1, frames, 8 * walked->count);
  publish();
  return true;
}
