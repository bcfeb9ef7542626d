// Calls that move memory: one record each, written at the return.
//
//   thread ─ cudaMalloc ─────────────────────────────► record (runtime, inner 1)
//              └ cuMemAlloc_v2 ──► record (driver, FLAG_IN_RUNTIME, the stack of cudaMalloc)
//
// Who charges what is the ledger's business (src/model/ledger.h); here a call is only told.
#pragma once

#include "common.bpf.h"

struct flight_key {
  __u64 thread;
  __u64 function;
};
struct flight {
  __u64 start_ns, out, address, bytes, times, handle, stream, offset;
  __s32 stack, device;
  __u8 nested, in_runtime;
};
TABLE(in_flight, LRU_HASH, struct flight_key, struct flight, MAX_THREADS);

static __always_inline int memoryEnter(struct pt_regs* ctx, __u64 cookie) {
  __u64 thread_id = bpf_get_current_pid_tgid();
  if (!isWatched(thread_id >> 32)) return 0;
  struct thread_state* thread = threadState(thread_id);
  if (!thread) return 0;
  __u64 sp = PT_REGS_SP(ctx);
  struct flight flight = {.start_ns = bpf_ktime_get_ns(), .stack = -1, .device = -1};
  bool inside = isOpen(&thread->runtime, sp);
  if (COOKIE_PLACE(cookie, COOKIE_RUNTIME)) {
    if (inside) {
      flight.nested = 1;
    } else {
      openCall(&thread->runtime, sp);
      thread->inner = 0;
      thread->stack = flight.stack = takeStack(ctx);
    }
  } else if (isOpen(&thread->driver, sp)) {
    flight.nested = 1;
  } else {
    openCall(&thread->driver, sp);
    flight.in_runtime = inside;
    flight.stack = inside ? thread->stack : takeStack(ctx);
  }
  flight.out = argument(ctx, COOKIE_PLACE(cookie, COOKIE_OUT));
  flight.address = argument(ctx, COOKIE_PLACE(cookie, COOKIE_ADDRESS));
  flight.bytes = argument(ctx, COOKIE_PLACE(cookie, COOKIE_BYTES));
  flight.times = argument(ctx, COOKIE_PLACE(cookie, COOKIE_TIMES));
  flight.handle = argument(ctx, COOKIE_PLACE(cookie, COOKIE_HANDLE));
  flight.stream = argument(ctx, COOKIE_PLACE(cookie, COOKIE_STREAM));
  switch (COOKIE_PLACE(cookie, COOKIE_SHAPE)) {
    case SHAPE_PITCH:
      flight.offset = PT_REGS_PARM2(ctx);  // where the pitch comes out
      break;
    case SHAPE_PITCHED_PTR:
      flight.bytes = userWord(sp + 16) * userWord(sp + 24);  // height × depth of the extent
      break;
    case SHAPE_CREATE: {
      __s32 device = -1;
      bpf_probe_read_user(&device, 4, (const void*)(PT_REGS_PARM3(ctx) + 12));
      flight.device = device;
      break;
    }
    case SHAPE_POOL_CREATE: {  // {allocType, handleTypes, location {type, id}, …}
      __s32 device = -1;
      bpf_probe_read_user(&device, 4, (const void*)(PT_REGS_PARM2(ctx) + 12));
      flight.device = device;
      break;
    }
    case SHAPE_ARRAY:
    case SHAPE_ARRAY_3D:
      flight.address = PT_REGS_PARM2(ctx);
      break;
    case SHAPE_MAP:
      flight.offset = flight.times;
      break;
  }
  struct flight_key key = {thread_id, cookie & 0xffff};
  if (bpf_map_update_elem(&in_flight, &key, &flight, BPF_ANY)) count(LOSS_IN_FLIGHT);
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
    default:
      if (flight->out) record->address = word;
  }
}

static __always_inline int memoryExit(struct pt_regs* ctx, __u64 cookie) {
  __u64 thread_id = bpf_get_current_pid_tgid();
  if (!isWatched(thread_id >> 32)) return 0;
  struct flight_key key = {thread_id, cookie & 0xffff};
  struct flight* flight = bpf_map_lookup_elem(&in_flight, &key);
  if (!flight) {
    count(LOSS_UNPAIRED);  // it was entered before the probes were there, or pushed out
    return 0;
  }
  struct thread_state* thread = bpf_map_lookup_elem(&threads, &thread_id);
  if (flight->nested) {
    count(COUNT_NESTED);
    bpf_map_delete_elem(&in_flight, &key);
    return 0;
  }
  bool runtime = COOKIE_PLACE(cookie, COOKIE_RUNTIME);
  if (thread) {
    if (runtime) {
      thread->runtime.sp = 0;
    } else {
      thread->driver.sp = 0;
      if (flight->in_runtime) thread->inner += 1;
    }
  }
  struct memory_record* record = bpf_ringbuf_reserve(&memory_ring, sizeof(*record), 0);
  if (!record) {
    count(LOSS_MEMORY_RING);
    bpf_map_delete_elem(&in_flight, &key);
    return 0;
  }
  record->start_ns = flight->start_ns;
  record->end_ns = bpf_ktime_get_ns();
  record->address = flight->address;
  record->size_bytes = flight->bytes;
  record->handle = flight->handle;
  record->stream = flight->stream;
  record->offset = flight->offset;
  record->tgid = thread_id >> 32;
  record->tid = (__u32)thread_id;
  record->device = flight->device >= 0 ? flight->device : thread ? thread->device : -1;
  record->code = (__s32)PT_REGS_RC(ctx);
  record->function = cookie & 0xffff;
  record->inner = runtime && thread ? (thread->inner > 255 ? 255 : thread->inner) : 0;
  record->flags = flight->in_runtime ? FLAG_IN_RUNTIME : 0;
  record->stack = flight->stack;
  if (record->code == 0) whatCameOut(flight, COOKIE_PLACE(cookie, COOKIE_SHAPE), record);
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  count(COUNT_MEMORY_RECORDS);
  bpf_map_delete_elem(&in_flight, &key);
  return 0;
}

SEC("uprobe")
int memory_enter(struct pt_regs* ctx) { return memoryEnter(ctx, bpf_get_attach_cookie(ctx)); }
SEC("uprobe")
int memory_exit(struct pt_regs* ctx) { return memoryExit(ctx, bpf_get_attach_cookie(ctx)); }
