// What is told of a call: the same as by the BPF programs (bpf/memory.bpf.h, contexts.bpf.h,
// copies.bpf.h, launches.bpf.h, names.bpf.h), with the call's frame in place of tables.
#include <string.h>

#include "preload/shim.h"

enum { PLAIN_FUNCTIONS_HAVE_NO_DRIVER = 35, DRIVER_NOT_INITIALIZED = 3 };

static uint64_t wordAt(uint64_t address) {
  uint64_t word = 0;
  if (address != 0) memcpy(&word, (const void*)(uintptr_t)address, 8);
  return word;
}
static int32_t numberAt(uint64_t address) {
  int32_t number = -1;
  if (address != 0) memcpy(&number, (const void*)(uintptr_t)address, 4);
  return number;
}
static struct memory_record* memoryRoom(void) {
  struct memory_record* record = room(ENTRY_MEMORY, sizeof(*record));
  if (record == NULL) {
    countOne(LOSS_MEMORY_RING);
    return NULL;
  }
  memset(record, 0, sizeof(*record));
  record->tgid = own_tgid;
  record->tid = own.tid;
  record->stack = -1;
  return record;
}

// ---- memory -------------------------------------------------------------------------------------
static void memoryEnter(struct frame* frame) {
  struct flight* flight = &frame->flight;
  uint64_t cookie = flight->cookie;
  bool runtime = COOKIE_PLACE(cookie, COOKIE_RUNTIME);
  bool inside = isOpen(own.runtime, frame);
  if (runtime ? inside : isOpen(own.driver, frame)) {
    countOne(COUNT_NESTED);
    return;
  }
  flight->kind = FLIGHT_MEMORY;
  flight->in_runtime = inside;
  flight->device = -1;
  flight->stack = inside ? own.runtime->flight.stack : takeStack(frame);
  *(runtime ? &own.runtime : &own.driver) = frame;
  flight->out = argument(frame, COOKIE_PLACE(cookie, COOKIE_OUT));
  flight->address = argument(frame, COOKIE_PLACE(cookie, COOKIE_ADDRESS));
  flight->bytes = argument(frame, COOKIE_PLACE(cookie, COOKIE_BYTES));
  flight->times = argument(frame, COOKIE_PLACE(cookie, COOKIE_TIMES));
  flight->handle = argument(frame, COOKIE_PLACE(cookie, COOKIE_HANDLE));
  flight->stream = argument(frame, COOKIE_PLACE(cookie, COOKIE_STREAM));
  switch (COOKIE_PLACE(cookie, COOKIE_SHAPE)) {
    case SHAPE_PITCH:
      flight->offset = frame->registers[1];  // where the pitch comes out
      break;
    case SHAPE_PITCHED_PTR:  // height × depth of the extent
      flight->bytes = callerSp(frame)[2] * callerSp(frame)[3];
      break;
    case SHAPE_CREATE:
      flight->device = frame->registers[2] ? numberAt(frame->registers[2] + 12) : -1;
      break;
    case SHAPE_POOL_CREATE:
      flight->device = frame->registers[1] ? numberAt(frame->registers[1] + 12) : -1;
      break;
    case SHAPE_ARRAY:
    case SHAPE_ARRAY_3D:
      flight->address = frame->registers[1];
      break;
    case SHAPE_MAP:
      flight->offset = flight->times;
      break;
  }
  flight->start_ns = monotonicNow();
}

static uint64_t formatBytes(uint32_t format) {  // CUarray_format
  switch (format) {
    case 0x01:
    case 0x08:
      return 1;
    case 0x02:
    case 0x09:
    case 0x10:
      return 2;
    case 0x03:
    case 0x0a:
    case 0x20:
      return 4;
    default:
      return 0;
  }
}
static uint64_t arrayBytes(uint64_t address, bool deep) {
  struct {
    uint64_t width, height, depth;
    uint32_t format, channels;
  } it = {0, 0, 0, 0, 0};
  if (address == 0) return 0;
  memcpy(&it.width, (const void*)(uintptr_t)address, deep ? 24 : 16);
  memcpy(&it.format, (const void*)(uintptr_t)(address + (deep ? 24 : 16)), 8);
  uint64_t height = it.height ? it.height : 1, depth = it.depth ? it.depth : 1;
  return it.width * height * depth * formatBytes(it.format) * it.channels;
}

static void whatCameOut(const struct flight* flight, struct memory_record* record) {
  uint64_t word = wordAt(flight->out);
  uint32_t shape = COOKIE_PLACE(flight->cookie, COOKIE_SHAPE);
  switch (shape) {
    case SHAPE_HANDLE_OUT:
    case SHAPE_CREATE:
    case SHAPE_POOL_CREATE:
      record->handle = word;
      break;
    case SHAPE_PITCH:
      record->address = word;
      record->size_bytes = wordAt(flight->offset) * flight->times;
      record->offset = 0;
      break;
    case SHAPE_PITCHED_PTR:
      record->address = word;
      record->size_bytes = wordAt(flight->out + 8) * flight->bytes;
      break;
    case SHAPE_ARRAY:
    case SHAPE_ARRAY_3D:
      record->handle = word;
      record->address = 0;
      record->size_bytes = arrayBytes(flight->address, shape == SHAPE_ARRAY_3D);
      break;
    case SHAPE_GRAPH_NODE:
      record->size_bytes = wordAt(flight->address + 104);
      record->address = wordAt(flight->address + 112);
      break;
    case SHAPE_MEM_INFO:
      record->size_bytes = wordAt(flight->address);
      record->address = word;
      break;
    default:
      if (flight->out) record->address = word;
  }
}

static void memoryExit(struct frame* frame) {
  struct flight* flight = &frame->flight;
  uint64_t end_ns = monotonicNow();
  bool runtime = COOKIE_PLACE(flight->cookie, COOKIE_RUNTIME);
  *(runtime ? &own.runtime : &own.driver) = NULL;
  if (flight->in_runtime && isOpen(own.runtime, frame)) own.runtime->flight.inner += 1;
  struct memory_record* record = memoryRoom();
  if (record == NULL) return;
  record->start_ns = flight->start_ns;
  record->end_ns = end_ns;
  record->address = flight->address;
  record->size_bytes = flight->bytes;
  record->handle = flight->handle;
  record->stream = flight->stream;
  record->offset = flight->offset;
  record->device = flight->device >= 0 ? flight->device : own.device;
  record->code = (int32_t)frame->result;
  record->function = flight->cookie & 0xffff;
  record->inner = flight->inner > 255 ? 255 : (uint8_t)flight->inner;
  record->flags = flight->in_runtime ? FLAG_IN_RUNTIME : 0;
  record->stack = flight->stack;
  if (record->code == 0) whatCameOut(flight, record);
  publish();
  countOne(COUNT_MEMORY_RECORDS);
}

// ---- contexts -----------------------------------------------------------------------------------
enum { CONTEXTS = 1024 };
static struct {
  uint64_t context;
  int32_t device;
} contexts[CONTEXTS];  // of this process; a row is written once, or changes its device

static void keepContext(uint64_t context, int32_t device) {
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
static int32_t deviceOf(uint64_t context) {
  for (int i = 0; i < CONTEXTS; ++i) {
    uint64_t held = __atomic_load_n(&contexts[i].context, __ATOMIC_ACQUIRE);
    if (held == context && held != 0) return __atomic_load_n(&contexts[i].device, __ATOMIC_ACQUIRE);
    if (held == 0) break;
  }
  return DEVICE_UNKNOWN;
}

static void contextExit(struct frame* frame) {
  struct flight* flight = &frame->flight;
  if ((int32_t)frame->result != 0) return;
  bool runtime = COOKIE_PLACE(flight->cookie, COOKIE_RUNTIME);
  uint64_t given = flight->handle, context = given;
  int32_t device = own.device;
  switch (COOKIE_PLACE(flight->cookie, COOKIE_VERB)) {
    case VERB_CREATE:
    case VERB_RETAIN:
      device = (int32_t)given;
      context = wordAt(flight->out);
      if (context != 0) keepContext(context, device);
      if (COOKIE_PLACE(flight->cookie, COOKIE_VERB) == VERB_CREATE) own.device = device;
      break;
    case VERB_SET:
      own.device = runtime ? (int32_t)given : deviceOf(given);
      return;
    case VERB_PUSH:
      own.pushed[own.pushes++ & 3] = own.device;
      own.device = deviceOf(given);
      return;
    case VERB_POP:
      own.device = own.pushes == 0 ? -1 : own.pushed[--own.pushes & 3];
      return;
    case VERB_DESTROY:
      device = deviceOf(given);
      break;
    default:  // released, reset: the device is given
      if (!runtime) device = (int32_t)given;
  }
  struct memory_record* record = memoryRoom();
  if (record == NULL) return;
  record->start_ns = flight->start_ns;
  record->end_ns = monotonicNow();
  record->handle = context;
  record->device = device;
  record->function = flight->cookie & 0xffff;
  publish();
  countOne(COUNT_MEMORY_RECORDS);
}

// ---- copies -------------------------------------------------------------------------------------
static void copyEnter(struct frame* frame) {
  struct flight* flight = &frame->flight;
  uint64_t cookie = flight->cookie;
  uint32_t direction = COOKIE_PLACE(cookie, COOKIE_DIRECTION);
  uint32_t kind_place = COOKIE_PLACE(cookie, COOKIE_HANDLE);
  if (kind_place != 0) {
    uint32_t kind = (uint32_t)argument(frame, kind_place);
    direction = kind < COPY_UNKNOWN ? kind : COPY_UNKNOWN;
  }
  bool inside = isOpen(own.copy, frame);
  flight->kind = FLIGHT_COPY;
  if (COOKIE_PLACE(cookie, COOKIE_RUNTIME)) {
    flight->nested = inside;
    if (!inside) {
      own.copy = frame;
      own.copy_kind = direction;
    }
  } else if (inside && direction == COPY_UNKNOWN) {
    direction = own.copy_kind;
  }
  flight->in_runtime = inside;
  flight->handle = direction;
  flight->bytes =
      argument(frame, COOKIE_PLACE(cookie, COOKIE_BYTES)) * COOKIE_PLACE(cookie, COOKIE_ELEMENT);
  if (COOKIE_PLACE(cookie, COOKIE_TIMES))
    flight->bytes *= argument(frame, COOKIE_PLACE(cookie, COOKIE_TIMES));
  flight->start_ns = monotonicNow();
}

static void copyExit(struct frame* frame) {
  struct flight* flight = &frame->flight;
  uint64_t spent_ns = monotonicNow() - flight->start_ns;
  if (flight->nested) {
    countOne(COUNT_NESTED);
    return;
  }
  if (COOKIE_PLACE(flight->cookie, COOKIE_RUNTIME)) {
    own.copy = NULL;
    if (flight->inner > 0) {
      countOne(COUNT_NESTED);
      return;
    }
  } else if (isOpen(own.copy, frame)) {
    own.copy->flight.inner += 1;
  }
  struct copy_key key = {own_image, (__u8)flight->handle,
                         (__u8)COOKIE_PLACE(flight->cookie, COOKIE_SUBMITTED),
                         (__u16)(flight->cookie & 0xffff)};
  struct copy_sum* sum = copySum(&key);
  if (sum == NULL) {
    countOne(LOSS_COPY_TABLE);
  } else if ((int32_t)frame->result != 0) {
    __atomic_fetch_add(&sum->failures, 1, __ATOMIC_RELAXED);
  } else {
    __atomic_fetch_add(&sum->bytes, flight->bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum->time_ns, spent_ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum->calls, 1, __ATOMIC_RELAXED);
  }
}

// ---- launches -----------------------------------------------------------------------------------
static void launchEnter(struct frame* frame) {
  struct flight* flight = &frame->flight;
  const uint64_t* words = frame->registers;
  const uint64_t* stack = callerSp(frame);
  flight->kind = FLIGHT_LAUNCH;
  if (isOpen(own.launch, frame)) {
    flight->nested = true;
    countOne(COUNT_NESTED);
    return;
  }
  if (COOKIE_PLACE(flight->cookie, COOKIE_RUNTIME)) own.launch = frame;
  struct launch_key key = {words[0], own_image, {0, 0, 0}, {0, 0, 0}, flight->cookie & 0xffff, 0};
  uint64_t stream = 0, arguments = 0;
  uint32_t shared_bytes = 0;
  switch (COOKIE_PLACE(flight->cookie, COOKIE_SHAPE)) {
    case LAUNCH_SIX_WORDS:
      key.grid[0] = (uint32_t)words[1];
      key.grid[1] = (uint32_t)words[2];
      key.grid[2] = (uint32_t)words[3];
      key.block[0] = (uint32_t)words[4];
      key.block[1] = (uint32_t)words[5];
      key.block[2] = (uint32_t)stack[1];
      shared_bytes = (uint32_t)stack[2];
      stream = stack[3];
      arguments = stack[4];
      break;
    case LAUNCH_DIM3:
      key.grid[0] = (uint32_t)words[1];
      key.grid[1] = (uint32_t)(words[1] >> 32);
      key.grid[2] = (uint32_t)words[2];
      key.block[0] = (uint32_t)words[3];
      key.block[1] = (uint32_t)(words[3] >> 32);
      key.block[2] = (uint32_t)words[4];
      arguments = words[5];
      shared_bytes = (uint32_t)stack[1];
      stream = stack[2];
      break;
    case LAUNCH_CONFIG:
      key.kernel = words[1];
      arguments = words[2];
      if (words[0] != 0) {
        memcpy(key.grid, (const void*)(uintptr_t)words[0], sizeof(key.grid));
        memcpy(key.block, (const void*)(uintptr_t)(words[0] + 12), sizeof(key.block));
        shared_bytes = (uint32_t)numberAt(words[0] + 24);
        stream = wordAt(words[0] + 32);
      }
      break;
    default:  // a graph: the launches inside are not seen
      stream = words[1];
  }
  countLaunch(&key);
  if (!area->head.launch_events) return;
  int32_t stack_id = takeStack(frame);
  struct launch_record* record = room(ENTRY_LAUNCH, sizeof(*record));
  if (record == NULL) {
    countOne(LOSS_LAUNCH_RING);
    return;
  }
  memset(record, 0, sizeof(*record));
  record->time_ns = monotonicNow();
  record->kernel = key.kernel;
  record->stream = stream;
  record->tgid = own_tgid;
  record->tid = own.tid;
  memcpy(record->grid, key.grid, sizeof(key.grid));
  memcpy(record->block, key.block, sizeof(key.block));
  record->shared_bytes = shared_bytes;
  record->device = own.device;
  record->stack = stack_id;
  record->function = key.function;
  // How many arguments a kernel has is not known, so they are not followed: what lies behind the
  // last one may lead anywhere, and a fault here would be the program's.
  (void)arguments;
  publish();
}

// ---- names --------------------------------------------------------------------------------------
static void sendName(uint64_t handle, uint64_t of, uint64_t text) {
  const char* name = text != 0 ? (const char*)(uintptr_t)text : "";
  uint32_t length = (uint32_t)strnlen(name, sizeof(((struct name_record*)0)->name) - 1);
  struct preload_name* entry = room(ENTRY_NAME, (uint32_t)sizeof(*entry) + length);
  if (entry == NULL) {
    countOne(LOSS_NAME_RING);
    return;
  }
  *entry = (struct preload_name){handle, of, own_tgid, length};
  memcpy(entry + 1, name, length);
  publish();
}

// ---- every call ---------------------------------------------------------------------------------
__attribute__((visibility("hidden"))) void tidegauge_before(struct frame* frame) {
  uint32_t id = frame->id & 0xffff;
  struct flight* flight = &frame->flight;
  flight->kind = FLIGHT_NOTHING;
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
    flight->kind = FLIGHT_POINTER;
    return;
  }
  own.inside = true;
  const struct preload_function* function = &area->functions[id];
  uint64_t cookie = flight->cookie = function->cookie;
  flight->whole = intact(frame);
  flight->inner = 0;
  flight->nested = flight->in_runtime = 0;
  switch (function->group) {
    case PRELOAD_MEMORY:
      memoryEnter(frame);
      break;
    case PRELOAD_CONTEXT:
      flight->kind = FLIGHT_CONTEXT;
      flight->out = argument(frame, COOKIE_PLACE(cookie, COOKIE_OUT));
      flight->handle = argument(frame, COOKIE_PLACE(cookie, COOKIE_HANDLE));
      flight->start_ns = monotonicNow();
      break;
    case PRELOAD_COPY:
      copyEnter(frame);
      break;
    case PRELOAD_LAUNCH:
      launchEnter(frame);
      break;
    case PRELOAD_NAME:
      flight->out = argument(frame, COOKIE_PLACE(cookie, COOKIE_OUT));
      flight->address = argument(frame, COOKIE_PLACE(cookie, COOKIE_ADDRESS));
      if (function->at_entry)
        sendName(argument(frame, COOKIE_PLACE(cookie, COOKIE_HANDLE)), 0, flight->address);
      else
        flight->kind = FLIGHT_NAME;
      flight->handle = argument(frame, COOKIE_PLACE(cookie, COOKIE_BYTES));
      break;
  }
  own.inside = false;
}

__attribute__((visibility("hidden"))) void tidegauge_after(struct frame* frame) {
  struct flight* flight = &frame->flight;
  if (flight->kind == FLIGHT_NOTHING) return;
  own.inside = true;
  switch (flight->kind) {
    case FLIGHT_MEMORY:
      memoryExit(frame);
      break;
    case FLIGHT_CONTEXT:
      contextExit(frame);
      break;
    case FLIGHT_COPY:
      copyExit(frame);
      break;
    case FLIGHT_LAUNCH:
      if (own.launch == frame) own.launch = NULL;
      break;
    case FLIGHT_NAME:
      if ((int32_t)frame->result == 0)
        sendName(wordAt(flight->out), flight->handle, flight->address);
      break;
    case FLIGHT_POINTER: {
      void** out = (void**)(uintptr_t)frame->registers[1];
      if ((int32_t)frame->result == 0 && out != NULL) *out = handOut(*out);
      break;
    }
  }
  flight->whole = 0;
  own.inside = false;
}
