// Copies and memsets: summed in the kernel by process, direction and function.
//
//   cudaMemcpy(kind H2D) ─┬ cuMemcpyHtoD_v2 ──► counted here, with the bytes
//                        └ at its return: counted itself only without a driver copy inside
#pragma once

#include "counted.bpf.h"
#include "open_calls.bpf.h"

struct copy_flight {
  __u64 start_ns;
  __u64 bytes;
  __u32 direction;
  __u32 nested;
};
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
  struct copy_flight flight = {.start_ns = bpf_ktime_get_ns()};
  __u32 kind_place = COOKIE_PLACE(cookie, COOKIE_HANDLE);
  flight.direction = COOKIE_PLACE(cookie, COOKIE_DIRECTION);
  if (kind_place) {
    __u32 kind = (__u32)argument(ctx, kind_place);
    flight.direction = kind < COPY_UNKNOWN ? kind : COPY_UNKNOWN;
  }
  bool inside = isOpen(ctx, thread, &thread->copy);
  if (COOKIE_PLACE(cookie, COOKIE_RUNTIME)) {
    flight.nested = inside;
    if (!inside) {
      openCall(ctx, &thread->copy);
      thread->inner_copies = 0;
      thread->copy_kind = flight.direction;
    }
  } else if (inside && flight.direction == COPY_UNKNOWN) {
    flight.direction = thread->copy_kind;
  }
  flight.bytes = argument(ctx, COOKIE_PLACE(cookie, COOKIE_BYTES));
  if (COOKIE_PLACE(cookie, COOKIE_TIMES))
    flight.bytes *= argument(ctx, COOKIE_PLACE(cookie, COOKIE_TIMES));
  flight.bytes *= COOKIE_PLACE(cookie, COOKIE_ELEMENT);
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
  if (flight.nested) {
    count(COUNT_NESTED);
    return 0;
  }
  if (COOKIE_PLACE(cookie, COOKIE_RUNTIME)) {
    thread->copy.sp = 0;
    if (thread->inner_copies) {
      count(COUNT_NESTED);
      return 0;
    }
  } else if (thread->copy.sp) {
    thread->inner_copies += 1;
  }
  struct copy_key sum_key = {.program = thread->program,
                             .direction = flight.direction,
                             .submitted = COOKIE_PLACE(cookie, COOKIE_SUBMITTED),
                             .function = cookie & 0xffff};
  struct copy_sum zero = {};
  struct copy_sum* sum = countedRow(&copies, &sum_key, &zero, COUNTED_COPIES);
  if (!sum) {
    count(LOSS_COPY_TABLE);
    return 0;
  }
  if ((__s32)PT_REGS_RC(ctx) != 0) {
    __sync_fetch_and_add(&sum->failures, 1);
    return 0;
  }
  __sync_fetch_and_add(&sum->calls, 1);
  __sync_fetch_and_add(&sum->bytes, flight.bytes);
  __sync_fetch_and_add(&sum->time_ns, bpf_ktime_get_ns() - flight.start_ns);
  return 0;
}
