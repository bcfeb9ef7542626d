// Calls that move memory: one record each, written at the return.
//
//   thread ─ cudaMalloc ─────────────────────────────► record (runtime, inner 1)
//              └ cuMemAlloc_v2 ──► record (driver, FLAG_IN_RUNTIME, the stack of cudaMalloc)
//
// memory_calls.h has what a record holds; here is where a call is kept until it returns.
#pragma once

#include "common.bpf.h"
#include "memory_calls.h"
#include "open_calls.bpf.h"

struct flight_key {
  __u64 thread;
  __u64 function;
};
// Calls that the state of a thread has no place for: contexts, names.
TABLE(in_flight, LRU_HASH, struct flight_key, struct flight, MAX_THREADS);

// Room for a record of this thread. 0: there is none.
static __always_inline struct memory_record* memoryRecord(__u64 thread_id) {
  struct memory_record* record = bpf_ringbuf_reserve(&memory_ring, sizeof(*record), 0);
  if (!record) {
    count(LOSS_MEMORY_RING);
    return 0;
  }
  record->tgid = thread_id >> 32;
  record->tid = (__u32)thread_id;
  return record;
}
static __always_inline void sendMemory(struct memory_record* record) {
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  count(COUNT_MEMORY_RECORDS);
}

// One call of each plane is in flight in a thread; what it calls itself is a part of it.
static __always_inline int memoryEnter(struct pt_regs* ctx, __u64 cookie) {
  __u64 thread_id = bpf_get_current_pid_tgid();
  struct thread_state* thread = watchedThread(thread_id);
  if (!thread) return 0;
  __u64 sp = PT_REGS_SP(ctx);
  bool inside = isMemoryCallOpen(ctx, thread, &thread->runtime);
  bool runtime = COOKIE_PLACE(cookie, COOKIE_RUNTIME);
  if (runtime ? inside : isMemoryCallOpen(ctx, thread, &thread->driver)) return 0;
  struct memory_call* call = runtime ? &thread->runtime : &thread->driver;
  call->sp = sp;
  call->entry = PT_REGS_IP(ctx);
  call->flight.in_runtime = inside;
  call->flight.stack = inside ? thread->runtime.flight.stack : takeStack(ctx, true);
  memoryArguments(ctx, cookie, &call->flight);
  return 0;
}

static __always_inline int memoryExit(struct pt_regs* ctx, __u64 cookie) {
  __u64 thread_id = bpf_get_current_pid_tgid(), end_ns = monotonicNow();
  struct thread_state* thread = bpf_map_lookup_elem(&threads, &thread_id);
  if (!thread) return 0;
  struct memory_call* call =
      COOKIE_PLACE(cookie, COOKIE_RUNTIME) ? &thread->runtime : &thread->driver;
  // The return address is off the stack now: sp is just above the place where the call was entered.
  __u64 sp = PT_REGS_SP(ctx);
  if (!call->sp || call->flight.function != (cookie & 0xffff) || sp - call->sp > 64) {
    // A part of the call in flight, or of one that jumped to the one that has just returned; else
    // it was entered before the probes were there.
    count((call->sp && sp <= call->sp + 64) || sp == thread->returned_sp ? COUNT_NESTED
                                                                         : LOSS_UNPAIRED);
    return 0;
  }
  call->sp = 0;
  thread->returned_sp = sp;
  if (call->flight.in_runtime) thread->runtime.flight.inner += 1;
  struct memory_record* record = memoryRecord(thread_id);
  if (!record) return 0;
  fillMemory(record, &call->flight, cookie, thread->chosen.device, (__s32)PT_REGS_RC(ctx), end_ns);
  sendMemory(record);
  return 0;
}

SEC("uprobe")
int memory_enter(struct pt_regs* ctx) { return memoryEnter(ctx, bpf_get_attach_cookie(ctx)); }
SEC("uprobe")
int memory_exit(struct pt_regs* ctx) { return memoryExit(ctx, bpf_get_attach_cookie(ctx)); }
