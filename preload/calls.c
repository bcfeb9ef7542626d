// Keeps a call between entry and return in the wrapper's frame, and sends its record. The rules of
// bpf/calls.h, which the BPF programs share, decide what a record holds.
//
//   cudaMalloc   [frame: own.runtime] ── return ──► record (runtime, inner 1)
//     └ cuMemAlloc_v2 [frame: own.driver] ────────► record (driver, FLAG_IN_RUNTIME, same stack)
#include <string.h>

#include "preload/shim.h"

enum { PLAIN_FUNCTIONS_HAVE_NO_DRIVER = 35, DRIVER_NOT_INITIALIZED = 3 };

// ---- what the rules need ------------------------------------------------------------------------
typedef struct frame call_entry;
typedef struct thread call_thread;

// The driver reads or writes at the same address, so memory is there. The first page is never
// mapped: a null pointer, or a member behind one. `into` then stays as it is, and nothing is lost.
static inline bool readBytes(void* into, uint64_t address, uint32_t bytes) {
  if (address >= 4096) memcpy(into, (const void*)(uintptr_t)address, bytes);
  return true;
}
static inline uint64_t readWord(uint64_t address) {
  uint64_t word = 0;
  (void)readBytes(&word, address, sizeof(word));
  return word;
}

enum { CONTEXTS = 1024 };
static struct {
  uint64_t context;
  int32_t device;
} contexts[CONTEXTS];  // of this process; a row is written once, or changes its device

static void keepContext(uint64_t context, uint32_t tgid, int32_t device) {
  (void)tgid;
  if (context == 0) return;  // that of an empty row
  for (int i = 0; i < CONTEXTS; ++i) {
    uint64_t empty = 0;
    if (__atomic_load_n(&contexts[i].context, __ATOMIC_ACQUIRE) == context ||
        __atomic_compare_exchange_n(&contexts[i].context, &empty, context, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      __atomic_store_n(&contexts[i].device, device, __ATOMIC_RELEASE);
      return;
    }
  }
}
static int32_t deviceOf(uint64_t context, uint32_t tgid) {
  (void)tgid;
  for (int i = 0; i < CONTEXTS; ++i) {
    uint64_t held = __atomic_load_n(&contexts[i].context, __ATOMIC_ACQUIRE);
    if (held == context && held != 0) return __atomic_load_n(&contexts[i].device, __ATOMIC_ACQUIRE);
    if (held == 0) break;
  }
  return DEVICE_UNKNOWN;
}

static inline bool isInsideCopy(const struct frame* frame, const struct thread* thread) {
  return isOpen(thread->copy, frame);
}
static inline void openCopy(struct frame* frame, struct thread* thread) { thread->copy = frame; }
static inline void closeCopy(struct thread* thread) { thread->copy = NULL; }
static inline bool hasOpenCopy(const struct frame* frame, const struct thread* thread) {
  return isOpen(thread->copy, frame);
}

#include "bpf/context_calls.h"
#include "bpf/copy_calls.h"
#include "bpf/launch_calls.h"
#include "bpf/memory_calls.h"

// ---- memory -------------------------------------------------------------------------------------
static struct memory_record* memoryRecord(void) {
  struct memory_record* record = room(ENTRY_MEMORY, sizeof(*record));
  if (record == NULL) {
    count(LOSS_MEMORY_RING);
    return NULL;
  }
  record->tgid = own_tgid;
  record->tid = own.tid;
  return record;
}
static void sendMemory(void) {
  publish();
  count(COUNT_MEMORY_RECORDS);
}

static void memoryEnter(struct frame* frame) {
  bool runtime = COOKIE_PLACE(frame->cookie, COOKIE_RUNTIME);
  bool inside = isOpen(own.runtime, frame);
  if (runtime ? inside : isOpen(own.driver, frame)) {
    count(COUNT_NESTED);
    return;
  }
  frame->kind = CALL_MEMORY;
  frame->flight.in_runtime = inside;
  frame->flight.stack = inside ? own.runtime->flight.stack : takeStack(frame);
  *(runtime ? &own.runtime : &own.driver) = frame;
  memoryArguments(frame, frame->cookie, &frame->flight);
}

static void memoryExit(struct frame* frame) {
  uint64_t end_ns = monotonicNow();
  bool runtime = COOKIE_PLACE(frame->cookie, COOKIE_RUNTIME);
  *(runtime ? &own.runtime : &own.driver) = NULL;
  if (frame->flight.in_runtime && isOpen(own.runtime, frame)) own.runtime->flight.inner += 1;
  struct memory_record* record = memoryRecord();
  if (record == NULL) return;
  fillMemory(record, &frame->flight, frame->cookie, own.chosen.device, (int32_t)frame->result,
             end_ns);
  sendMemory();
}

// ---- contexts, copies, launches -----------------------------------------------------------------
static void contextExit(struct frame* frame) {
  if ((int32_t)frame->result != 0) return;
  if (!contextReturned(&frame->flight, frame->cookie, own_tgid, &own.chosen)) return;
  struct memory_record* record = memoryRecord();
  if (record == NULL) return;
  fillContext(record, &frame->flight, frame->cookie);
  sendMemory();
}

static void copyExit(struct frame* frame) {
  uint64_t end_ns = monotonicNow();
  if (!isCopyCounted(frame, &own, frame->cookie, &frame->copy)) return;
  struct copy_key key = copyKey(&frame->copy, frame->cookie, own_image);
  addCopy(copySum(&key), &frame->copy, (int32_t)frame->result, end_ns);
}

static void launchEnter(struct frame* frame) {
  frame->kind = CALL_LAUNCH;
  if (isOpen(own.launch, frame)) {
    count(COUNT_NESTED);
    return;
  }
  if (COOKIE_PLACE(frame->cookie, COOKIE_RUNTIME)) own.launch = frame;
  struct launch_key key = {.program = own_image};
  struct launch_details details = {0, 0, 0};
  launchArguments(frame, frame->cookie, area->head.launch_events, &key, &details);
  countLaunch(&key);
  if (!area->head.launch_events) return;
  int32_t stack = takeStack(frame);
  struct launch_record* record = room(ENTRY_LAUNCH, sizeof(*record));
  if (record == NULL) {
    count(LOSS_LAUNCH_RING);
    return;
  }
  // How many arguments a kernel has is not known, so they are not followed: what lies behind the
  // last one may lead anywhere, and a fault here would be the program's.
  memset(record, 0, sizeof(*record));
  record->time_ns = monotonicNow();
  record->tgid = own_tgid;
  record->tid = own.tid;
  record->device = own.chosen.device;
  record->stack = stack;
  fillLaunch(record, &key, &details);
  publish();
}

// ---- names --------------------------------------------------------------------------------------
static void sendName(uint64_t handle, uint64_t of, uint64_t text) {
  const char* name = text != 0 ? (const char*)(uintptr_t)text : "";
  uint32_t length = (uint32_t)strnlen(name, sizeof(((struct name_record*)0)->name) - 1);
  struct preload_name* entry = room(ENTRY_NAME, (uint32_t)sizeof(*entry) + length);
  if (entry == NULL) {
    count(LOSS_NAME_RING);
    return;
  }
  *entry = (struct preload_name){handle, of, own_tgid, length};
  memcpy(entry + 1, name, length);
  publish();
}

// ---- every call ---------------------------------------------------------------------------------
__attribute__((visibility("hidden"))) void tidegauge_before(struct frame* frame) {
  uint32_t id = frame->id & 0xffff;
  frame->kind = CALL_NOTHING;
  frame->real = realFunction(frame);
  frame->words = stackWords(id);
  if (frame->real == NULL) {
    // Nobody has this function: what its callers would see if there were no driver.
    frame->result =
        id < functionCount() && COOKIE_PLACE(area ? area->functions[id].cookie : 0, COOKIE_RUNTIME)
            ? PLAIN_FUNCTIONS_HAVE_NO_DRIVER
            : DRIVER_NOT_INITIALIZED;
    return;
  }
  if (own.inside || !ready()) return;
  if (id >= functionCount()) {
    frame->kind = CALL_POINTER;
    return;
  }
  own.inside = true;
  const struct preload_function* function = &area->functions[id];
  uint64_t cookie = frame->cookie = function->cookie;
  frame->whole = intact(frame);
  frame->flight.inner = frame->copy.nested = 0;
  switch (function->group) {
    case PRELOAD_MEMORY:
      memoryEnter(frame);
      break;
    case PRELOAD_CONTEXT:
      frame->kind = CALL_CONTEXT;
      contextArguments(frame, cookie, &frame->flight);
      break;
    case PRELOAD_COPY:
      frame->kind = CALL_COPY;
      copyArguments(frame, &own, cookie, &frame->copy);
      break;
    case PRELOAD_LAUNCH:
      launchEnter(frame);
      break;
    case PRELOAD_NAME:
      if (function->at_entry) {
        sendName(argument(frame, COOKIE_PLACE(cookie, COOKIE_HANDLE)), 0,
                 argument(frame, COOKIE_PLACE(cookie, COOKIE_ADDRESS)));
      } else {
        frame->kind = CALL_NAME;
        nameArguments(frame, cookie, &frame->flight);
      }
      break;
  }
  own.inside = false;
}

__attribute__((visibility("hidden"))) void tidegauge_after(struct frame* frame) {
  if (frame->kind == CALL_NOTHING) return;
  own.inside = true;
  switch (frame->kind) {
    case CALL_MEMORY:
      memoryExit(frame);
      break;
    case CALL_CONTEXT:
      contextExit(frame);
      break;
    case CALL_COPY:
      copyExit(frame);
      break;
    case CALL_LAUNCH:
      if (own.launch == frame) own.launch = NULL;
      break;
    case CALL_NAME:
      if ((int32_t)frame->result == 0)
        sendName(readWord(frame->flight.out), frame->flight.handle, frame->flight.address);
      break;
    case CALL_POINTER: {
      void** out = (void**)(uintptr_t)frame->registers[1];
      if ((int32_t)frame->result == 0 && out != NULL) *out = handOut(*out);
      break;
    }
  }
  frame->whole = 0;
  own.inside = false;
}
