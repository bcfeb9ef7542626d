// Names of kernels: the runtime registers its stubs before main(), the driver returns functions by
// name. The texts are often in pages that were never touched, so these programs may sleep until a
// page is loaded (PyTorch 2.15: 22,996 of 24,133 names could not be read otherwise).
#pragma once

#include "common.bpf.h"
#include "launch_calls.h"
#include "memory.bpf.h"

#define PART 16

// In parts, up to the terminating 0. A part that extends into unmapped memory is read byte by byte.
static __noinline void readText(struct name_record* record, __u64 text) {
  __builtin_memset(record->name, 0, sizeof(record->name));
  if (!text) return;
  for (__u32 at = 0; at + PART <= sizeof(record->name); at += PART) {
    char part[PART] = {};
    if (bpf_copy_from_user(part, PART, (const void*)(text + at))) {
      for (__u32 i = 0; i < PART; ++i) {
        if (bpf_copy_from_user(&part[i], 1, (const void*)(text + at + i))) {
          count(LOSS_READ_FAULT);
          return;
        }
        if (!part[i]) break;
      }
    }
    __builtin_memcpy(record->name + at, part, PART);
    if (part[0]) record->length = at + 1;  // not empty
    for (__u32 i = 0; i < PART; ++i)
      if (!part[i]) return;
  }
  record->name[sizeof(record->name) - 1] = 0;
}

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, MISSED_NAMES);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct missed_name_key);
  __type(value, struct missed_name);
} missed_names SEC(".maps");

// The ring is full: most texts stay where they are, so the recorder can read them later.
static __noinline void keepForLater(__u64 handle, __u64 of, __u64 text, __u32 program) {
  struct missed_name_key key = {handle, program, tgidNow()};
  struct missed_name name = {text, of};
  if (bpf_map_update_elem(&missed_names, &key, &name, BPF_ANY)) count(LOSS_NAME_RING);
}

static __noinline void sendName(__u64 handle, __u64 of, __u64 text, __u32 program) {
  struct name_record* record = bpf_ringbuf_reserve(&name_ring, sizeof(*record), 0);
  if (!record) {
    keepForLater(handle, of, text, program);
    return;
  }
  record->handle = handle;
  record->of = of;
  record->program = program;
  record->length = 0;
  readText(record, text);
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

SEC("uprobe.s")
int name_given(struct pt_regs* ctx) {
  __u64 cookie = bpf_get_attach_cookie(ctx);
  __u32 program = isWatched(tgidNow());
  if (!program) return 0;
  sendName(argument(ctx, COOKIE_PLACE(cookie, COOKIE_HANDLE)), 0,
           argument(ctx, COOKIE_PLACE(cookie, COOKIE_ADDRESS)), program);
  return 0;
}

SEC("uprobe.s")
int name_enter(struct pt_regs* ctx) {
  __u64 thread_id = bpf_get_current_pid_tgid(), cookie = bpf_get_attach_cookie(ctx);
  if (!isWatched(thread_id >> 32)) return 0;
  struct flight flight = {};
  nameArguments(ctx, cookie, &flight);
  struct flight_key key = {thread_id, cookie & 0xffff};
  if (bpf_map_update_elem(&in_flight, &key, &flight, BPF_ANY)) count(LOSS_IN_FLIGHT);
  return 0;
}

SEC("uprobe.s")
int name_exit(struct pt_regs* ctx) {
  __u64 thread_id = bpf_get_current_pid_tgid(), cookie = bpf_get_attach_cookie(ctx);
  __u32 program = isWatched(thread_id >> 32);
  if (!program) return 0;
  struct flight_key key = {thread_id, cookie & 0xffff};
  struct flight* flight = bpf_map_lookup_elem(&in_flight, &key);
  if (!flight) {
    count(LOSS_UNPAIRED);
    return 0;
  }
  if ((__s32)PT_REGS_RC(ctx) == 0)
    sendName(readWord(flight->out), flight->handle, flight->address, program);
  bpf_map_delete_elem(&in_flight, &key);
  return 0;
}
