// The device of a thread: the driver uses the current context, the runtime a number. Tracked in the
// kernel, so that a memory record contains its device, and cudaSetDevice(), which some programs
// call constantly, sends nothing.
#pragma once

#include "memory.bpf.h"

struct context_key {
  __u64 context;
  __u64 tgid;
};
TABLE(context_devices, LRU_HASH, struct context_key, __s32, 16384);

static __always_inline __s32 deviceOf(__u64 context, __u32 tgid) {
  struct context_key key = {context, tgid};
  __s32* device = bpf_map_lookup_elem(&context_devices, &key);
  return device ? *device : DEVICE_UNKNOWN;
}

SEC("uprobe")
int context_enter(struct pt_regs* ctx) {
  __u64 thread_id = bpf_get_current_pid_tgid(), cookie = bpf_get_attach_cookie(ctx);
  if (!isWatched(thread_id >> 32)) return 0;
  struct flight flight = {.start_ns = bpf_ktime_get_ns(), .stack = -1, .device = -1};
  flight.out = argument(ctx, COOKIE_PLACE(cookie, COOKIE_OUT));
  flight.handle = argument(ctx, COOKIE_PLACE(cookie, COOKIE_HANDLE));
  struct flight_key key = {thread_id, cookie & 0xffff};
  if (bpf_map_update_elem(&in_flight, &key, &flight, BPF_ANY)) count(LOSS_IN_FLIGHT);
  return 0;
}

SEC("uprobe")
int context_exit(struct pt_regs* ctx) {
  __u64 thread_id = bpf_get_current_pid_tgid(), cookie = bpf_get_attach_cookie(ctx);
  __u32 tgid = thread_id >> 32;
  if (!isWatched(tgid)) return 0;
  struct flight_key key = {thread_id, cookie & 0xffff};
  struct flight* flight = bpf_map_lookup_elem(&in_flight, &key);
  if (!flight) {
    count(LOSS_UNPAIRED);
    return 0;
  }
  __u64 given = flight->handle, out = flight->out, start_ns = flight->start_ns;
  bpf_map_delete_elem(&in_flight, &key);
  struct thread_state* thread = watchedThread(thread_id);
  if (!thread || (__s32)PT_REGS_RC(ctx) != 0) return 0;
  bool runtime = COOKIE_PLACE(cookie, COOKIE_RUNTIME);
  __u32 verb = COOKIE_PLACE(cookie, COOKIE_VERB);
  __u64 context = given;
  __s32 device = thread->device;
  if (verb == VERB_CREATE || verb == VERB_RETAIN) {
    device = (__s32)given;
    context = userWord(out);
    struct context_key made = {context, tgid};
    bpf_map_update_elem(&context_devices, &made, &device, BPF_ANY);
    if (verb == VERB_CREATE) thread->device = device;
  } else if (verb == VERB_SET) {
    thread->device = runtime ? (__s32)given : deviceOf(given, tgid);
    return 0;
  } else if (verb == VERB_PUSH) {
    if (thread->pushes < PUSHED_DEVICES)
      thread->pushed[thread->pushes & (PUSHED_DEVICES - 1)] = thread->device;
    thread->pushes += 1;
    thread->device = deviceOf(given, tgid);
    return 0;
  } else if (verb == VERB_POP) {
    if (thread->pushes == 0) {
      thread->device = -1;
      return 0;
    }
    thread->pushes -= 1;
    thread->device = thread->pushes < PUSHED_DEVICES
                         ? thread->pushed[thread->pushes & (PUSHED_DEVICES - 1)]
                         : DEVICE_UNKNOWN;
    return 0;
  } else if (verb == VERB_DESTROY) {
    device = deviceOf(given, tgid);
  } else if (!runtime) {  // released, reset: the device is an argument
    device = (__s32)given;
  }
  struct memory_record* record = bpf_ringbuf_reserve(&memory_ring, sizeof(*record), 0);
  if (!record) {
    count(LOSS_MEMORY_RING);
    return 0;
  }
  __builtin_memset(record, 0, sizeof(*record));
  record->start_ns = start_ns;
  record->end_ns = bpf_ktime_get_ns();
  record->handle = context;
  record->tgid = tgid;
  record->tid = (__u32)thread_id;
  record->device = device;
  record->function = cookie & 0xffff;
  record->stack = -1;
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  count(COUNT_MEMORY_RECORDS);
  return 0;
}
