// Which device a context is on, kept in the kernel, and the calls that choose one
// (context_calls.h).
#pragma once

#include "memory.bpf.h"

struct context_key {
  __u64 context;
  __u64 tgid;
};
TABLE(context_devices, LRU_HASH, struct context_key, __s32, 16384);

static __always_inline void keepContext(__u64 context, __u32 tgid, __s32 device) {
  struct context_key key = {context, tgid};
  bpf_map_update_elem(&context_devices, &key, &device, BPF_ANY);
}
static __always_inline __s32 deviceOf(__u64 context, __u32 tgid) {
  struct context_key key = {context, tgid};
  __s32* device = bpf_map_lookup_elem(&context_devices, &key);
  return device ? *device : DEVICE_UNKNOWN;
}

#include "context_calls.h"

SEC("uprobe")
int context_enter(struct pt_regs* ctx) {
  __u64 thread_id = bpf_get_current_pid_tgid(), cookie = bpf_get_attach_cookie(ctx);
  if (!isWatched(thread_id >> 32)) return 0;
  struct flight flight = {};
  contextArguments(ctx, cookie, &flight);
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
  struct flight* found = bpf_map_lookup_elem(&in_flight, &key);
  if (!found) {
    count(LOSS_UNPAIRED);
    return 0;
  }
  struct flight flight = *found;
  bpf_map_delete_elem(&in_flight, &key);
  struct thread_state* thread = watchedThread(thread_id);
  if (!thread || (__s32)PT_REGS_RC(ctx) != 0) return 0;
  if (!contextReturned(&flight, cookie, tgid, &thread->chosen)) return 0;
  struct memory_record* record = memoryRecord(thread_id);
  if (!record) return 0;
  fillContext(record, &flight, cookie);
  sendMemory(record);
  return 0;
}
