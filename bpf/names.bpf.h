// What kernels are called: the runtime registers its stubs before main(), the driver hands out
// functions by name.
#pragma once

#include "memory.bpf.h"

static __always_inline void sendName(__u64 handle, __u64 of, __u64 text, __u32 tgid) {
  struct name_record* record = bpf_ringbuf_reserve(&name_ring, sizeof(*record), 0);
  if (!record) {
    count(LOSS_NAME_RING);
    return;
  }
  record->handle = handle;
  record->of = of;
  record->tgid = tgid;
  record->length = 0;
  record->name[0] = 0;
  if (text) {
    long got = bpf_probe_read_user_str(record->name, sizeof(record->name), (const void*)text);
    if (got > 0) record->length = got - 1;
    if (got < 0) count(LOSS_READ_FAULT);
  }
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

SEC("uprobe")
int name_given(struct pt_regs* ctx) {
  __u64 cookie = bpf_get_attach_cookie(ctx);
  __u32 tgid = tgidNow();
  if (!isWatched(tgid)) return 0;
  sendName(argument(ctx, COOKIE_PLACE(cookie, COOKIE_HANDLE)), 0,
           argument(ctx, COOKIE_PLACE(cookie, COOKIE_ADDRESS)), tgid);
  return 0;
}

SEC("uprobe")
int name_enter(struct pt_regs* ctx) {
  __u64 thread_id = bpf_get_current_pid_tgid(), cookie = bpf_get_attach_cookie(ctx);
  if (!isWatched(thread_id >> 32)) return 0;
  struct flight flight = {.stack = -1, .device = -1};
  flight.out = argument(ctx, COOKIE_PLACE(cookie, COOKIE_OUT));
  flight.address = argument(ctx, COOKIE_PLACE(cookie, COOKIE_ADDRESS));
  flight.handle = argument(ctx, COOKIE_PLACE(cookie, COOKIE_BYTES));  // the kernel it is made from
  struct flight_key key = {thread_id, cookie & 0xffff};
  if (bpf_map_update_elem(&in_flight, &key, &flight, BPF_ANY)) count(LOSS_IN_FLIGHT);
  return 0;
}

SEC("uprobe")
int name_exit(struct pt_regs* ctx) {
  __u64 thread_id = bpf_get_current_pid_tgid(), cookie = bpf_get_attach_cookie(ctx);
  if (!isWatched(thread_id >> 32)) return 0;
  struct flight_key key = {thread_id, cookie & 0xffff};
  struct flight* flight = bpf_map_lookup_elem(&in_flight, &key);
  if (!flight) {
    count(LOSS_UNPAIRED);
    return 0;
  }
  if ((__s32)PT_REGS_RC(ctx) == 0)
    sendName(userWord(flight->out), flight->handle, flight->address, thread_id >> 32);
  bpf_map_delete_elem(&in_flight, &key);
  return 0;
}
