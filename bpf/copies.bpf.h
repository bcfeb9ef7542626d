// Copies and memsets: added up in the kernel by process, direction and function. copy_calls.h has
// the rules; here is where a copy is kept until it returns.
#pragma once

#include "counted.bpf.h"
#include "open_calls.bpf.h"

static __always_inline bool isInsideCopy(struct pt_regs* ctx, struct thread_state* thread) {
  return isOpen(ctx, thread, &thread->copy);
}
static __always_inline void openCopy(struct pt_regs* ctx, struct thread_state* thread) {
  openCall(ctx, &thread->copy);
}
static __always_inline void closeCopy(struct thread_state* thread) { thread->copy.sp = 0; }
static __always_inline bool hasOpenCopy(struct pt_regs* ctx, struct thread_state* thread) {
  (void)ctx;
  return thread->copy.sp;
}

#include "copy_calls.h"

struct copy_flight_key {
  __u64 thread;
  __u64 function;
};
TABLE(copies_in_flight, LRU_HASH, struct copy_flight_key, struct copy_flight, MAX_THREADS);

COUNTED_TABLE(copies, struct copy_key, struct copy_sum, COPY_ROWS, 0);

SEC("uprobe")
int copy_enter(struct pt_regs* ctx) {
  __u64 thread_id = bpf_get_current_pid_tgid(), cookie = bpf_get_attach_cookie(ctx);
  struct thread_state* thread = watchedThread(thread_id);
  if (!thread) return 0;
  struct copy_flight flight = {};
  copyArguments(ctx, thread, cookie, &flight);
  struct copy_flight_key key = {thread_id, cookie & 0xffff};
  if (bpf_map_update_elem(&copies_in_flight, &key, &flight, BPF_ANY)) count(LOSS_IN_FLIGHT);
  return 0;
}

SEC("uprobe")
int copy_exit(struct pt_regs* ctx) {
  __u64 thread_id = bpf_get_current_pid_tgid(), cookie = bpf_get_attach_cookie(ctx);
  struct thread_state* thread = bpf_map_lookup_elem(&threads, &thread_id);
  if (!thread) return 0;
  struct copy_flight_key key = {thread_id, cookie & 0xffff};
  struct copy_flight* found = bpf_map_lookup_elem(&copies_in_flight, &key);
  if (!found) {
    count(LOSS_UNPAIRED);
    return 0;
  }
  struct copy_flight flight = *found;
  bpf_map_delete_elem(&copies_in_flight, &key);
  if (!isCopyCounted(ctx, thread, cookie, &flight)) return 0;
  struct copy_key sum_key = copyKey(&flight, cookie, thread->program);
  struct copy_sum zero = {};
  struct copy_sum* sum = countedRow(&copies, &sum_key, &zero, COUNTED_COPIES);
  addCopy(sum, &flight, (__s32)PT_REGS_RC(ctx), monotonicNow());
  return 0;
}
