// Calls that move memory: one record each, written at the return.
//
//   thread ─ cudaMalloc ─────────────────────────────► record (runtime, inner 1)
//              └ cuMemAlloc_v2 ──► record (driver, FLAG_IN_RUNTIME, the stack of cudaMalloc)
//
// Who charges what is the ledger's business (src/model/ledger/ledger.h); here a call is only told.
#pragma once

#include "open_calls.bpf.h"

struct flight_key {
  __u64 thread;
  __u64 function;
};
// Of calls that no state of a thread has a place for: contexts, names.
TABLE(in_flight, LRU_HASH, struct flight_key, struct flight, MAX_THREADS);

// One call of each plane is in flight in a thread; what it calls itself is a part of it.
static __always_inline int memoryEnter(struct pt_regs* ctx, __u64 cookie) {
  __u64 thread_id = bpf_get_current_pid_tgid();
  struct thread_state* thread = watchedThread(thread_id);
  if (!thread) return 0;
  __u64 sp = PT_REGS_SP(ctx);
  bool inside = isInFlight(ctx, thread, &thread->runtime);
  bool runtime = COOKIE_PLACE(cookie, COOKIE_RUNTIME);
  if (runtime ? inside : isInFlight(ctx, thread, &thread->driver)) return 0;
  struct flight* flight = runtime ? &thread->runtime : &thread->driver;
  flight->sp = sp;
  flight->entry = PT_REGS_IP(ctx);
  flight->function = cookie & 0xffff;
  flight->in_runtime = inside;
  flight->device = -1;
  flight->offset = 0;
  flight->stack = inside ? thread->runtime.stack : takeStack(ctx, true);
  if (runtime) thread->inner = 0;
  flight->out = argument(ctx, COOKIE_PLACE(cookie, COOKIE_OUT));
  flight->address = argument(ctx, COOKIE_PLACE(cookie, COOKIE_ADDRESS));
  flight->bytes = argument(ctx, COOKIE_PLACE(cookie, COOKIE_BYTES));
  flight->times = argument(ctx, COOKIE_PLACE(cookie, COOKIE_TIMES));
  flight->handle = argument(ctx, COOKIE_PLACE(cookie, COOKIE_HANDLE));
  flight->stream = argument(ctx, COOKIE_PLACE(cookie, COOKIE_STREAM));
  switch (COOKIE_PLACE(cookie, COOKIE_SHAPE)) {
    case SHAPE_PITCH:
      flight->offset = PT_REGS_PARM2(ctx);  // where the pitch comes out
      break;
    case SHAPE_PITCHED_PTR:
      flight->bytes = userWord(sp + 16) * userWord(sp + 24);  // height × depth of the extent
      break;
    case SHAPE_CREATE: {
      __s32 device = -1;
      bpf_probe_read_user(&device, 4, (const void*)(PT_REGS_PARM3(ctx) + 12));
      flight->device = device;
      break;
    }
    case SHAPE_POOL_CREATE: {  // {allocType, handleTypes, location {type, id}, …}
      __s32 device = -1;
      bpf_probe_read_user(&device, 4, (const void*)(PT_REGS_PARM2(ctx) + 12));
      flight->device = device;
      break;
    }
    case SHAPE_ARRAY:
    case SHAPE_ARRAY_3D:
      flight->address = PT_REGS_PARM2(ctx);
      break;
    case SHAPE_MAP:
      flight->offset = flight->times;
      break;
  }
  flight->start_ns = bpf_ktime_get_ns();
  return 0;
}

// Bytes of one element of an array, by CUarray_format; 0 for what this version does not know.
static __always_inline __u64 formatBytes(__u32 format) {
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

static __always_inline __u64 arrayBytes(const struct flight* flight, bool deep) {
  struct {
    __u64 width, height, depth;
    __u32 format, channels;
  } it = {};
  if (deep) {
    if (bpf_probe_read_user(&it, sizeof(it), (const void*)flight->address)) return 0;
  } else {
    if (bpf_probe_read_user(&it.width, 16, (const void*)flight->address)) return 0;
    if (bpf_probe_read_user(&it.format, 8, (const void*)(flight->address + 16))) return 0;
  }
  __u64 height = it.height ? it.height : 1, depth = it.depth ? it.depth : 1;
  return it.width * height * depth * formatBytes(it.format) * it.channels;
}

static __always_inline void whatCameOut(const struct flight* flight, __u32 shape,
                                        struct memory_record* record) {
  __u64 word = 0;
  if (flight->out) {
    if (bpf_probe_read_user(&word, 8, (const void*)flight->out)) {
      count(LOSS_READ_FAULT);
      record->flags |= FLAG_READ_FAULT;
      return;
    }
  }
  switch (shape) {
    case SHAPE_HANDLE_OUT:
    case SHAPE_CREATE:
    case SHAPE_POOL_CREATE:
      record->handle = word;
      break;
    case SHAPE_PITCH:
      record->address = word;
      record->size_bytes = userWord(flight->offset) * flight->times;
      record->offset = 0;
      break;
    case SHAPE_PITCHED_PTR:
      record->address = word;
      record->size_bytes = userWord(flight->out + 8) * flight->bytes;
      break;
    case SHAPE_ARRAY:
    case SHAPE_ARRAY_3D:
      record->handle = word;
      record->address = 0;
      record->size_bytes = arrayBytes(flight, shape == SHAPE_ARRAY_3D);
      break;
    case SHAPE_GRAPH_NODE:
      record->size_bytes = userWord(flight->address + 104);
      record->address = userWord(flight->address + 112);
      break;
    case SHAPE_MEM_INFO:
      record->size_bytes = userWord(flight->address);
      record->address = word;
      break;
    default:
      if (flight->out) record->address = word;
  }
}

static __always_inline int memoryExit(struct pt_regs* ctx, __u64 cookie) {
  __u64 thread_id = bpf_get_current_pid_tgid(), end_ns = bpf_ktime_get_ns();
  struct thread_state* thread = bpf_map_lookup_elem(&threads, &thread_id);
  if (!thread) return 0;
  bool runtime = COOKIE_PLACE(cookie, COOKIE_RUNTIME);
  struct flight* flight = runtime ? &thread->runtime : &thread->driver;
  // The return address is off the stack now: sp is just above the place where the call was entered.
  __u64 sp = PT_REGS_SP(ctx);
  if (!flight->sp || flight->function != (cookie & 0xffff) || sp - flight->sp > 64) {
    // A part of the call in flight, or of one that jumped to the one that has just returned; else
    // it was entered before the probes were there.
    count((flight->sp && sp <= flight->sp + 64) || sp == thread->returned_sp ? COUNT_NESTED
                                                                             : LOSS_UNPAIRED);
    return 0;
  }
  flight->sp = 0;
  thread->returned_sp = sp;
  if (flight->in_runtime) thread->inner += 1;
  struct memory_record* record = bpf_ringbuf_reserve(&memory_ring, sizeof(*record), 0);
  if (!record) {
    count(LOSS_MEMORY_RING);
    return 0;
  }
  record->start_ns = flight->start_ns;
  record->end_ns = end_ns;
  record->address = flight->address;
  record->size_bytes = flight->bytes;
  record->handle = flight->handle;
  record->stream = flight->stream;
  record->offset = flight->offset;
  record->tgid = thread_id >> 32;
  record->tid = (__u32)thread_id;
  record->device = flight->device >= 0 ? flight->device : thread->device;
  record->code = (__s32)PT_REGS_RC(ctx);
  record->function = cookie & 0xffff;
  record->inner = !runtime ? 0 : thread->inner > 255 ? 255 : thread->inner;
  record->flags = flight->in_runtime ? FLAG_IN_RUNTIME : 0;
  record->stack = flight->stack;
  if (record->code == 0) whatCameOut(flight, COOKIE_PLACE(cookie, COOKIE_SHAPE), record);
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  count(COUNT_MEMORY_RECORDS);
  return 0;
}

SEC("uprobe")
int memory_enter(struct pt_regs* ctx) { return memoryEnter(ctx, bpf_get_attach_cookie(ctx)); }
SEC("uprobe")
int memory_exit(struct pt_regs* ctx) { return memoryExit(ctx, bpf_get_attach_cookie(ctx)); }
