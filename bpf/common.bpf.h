// Shared by all programs: maps, counters, which processes are watched, the state of a thread.
#pragma once

// clang-format off
#include <linux/types.h>  // before libbpf's headers, which use it
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
// clang-format on

#include "calls.h"
#include "kernel_types.h"
#include "records.h"

#define MAX_THREADS 65536
#define MAX_PROCESSES 16384

const volatile struct recorder_settings settings SEC(".rodata.settings") = {};

#define RING(name, bytes)               \
  struct {                              \
    __uint(type, BPF_MAP_TYPE_RINGBUF); \
    __uint(max_entries, bytes);         \
  } name SEC(".maps")
#define TABLE(name, kind, keys, values, rows) \
  struct {                                    \
    __uint(type, BPF_MAP_TYPE_##kind);        \
    __uint(max_entries, rows);                \
    __type(key, keys);                        \
    __type(value, values);                    \
  } name SEC(".maps")

RING(memory_ring, 8 << 20);
RING(system_ring, 1 << 20);
RING(name_ring, 4 << 20);

TABLE(targets, HASH, __u32, __u32, MAX_PROCESSES);
TABLE(seen, HASH, __u32, __u32, MAX_PROCESSES);                      // its program's number
TABLE(spaces, LRU_HASH, __u32, struct unwind_space, MAX_PROCESSES);  // unwind.bpf.h
TABLE(losses, PERCPU_ARRAY, __u32, __u64, COUNT_KINDS);
// A call is *open* while its frame is on the thread's stack: open_calls.bpf.h.
struct open_call {
  __u64 sp;     // 0: none
  __u64 entry;  // where its probe is
  __u64 return_address;
};
// A memory call between its entry and its return.
struct memory_call {
  __u64 sp;     // 0: none
  __u64 entry;  // where its probe is
  struct flight flight;
};
// Callers that were found to be a part of the open call, and how far up its frame is.
#define NESTED_CALLS 4
struct nested_call {
  __u64 caller;  // 0: none
  __u64 distance;
};
struct thread_state {
  struct memory_call runtime;  // the outermost call of the runtime
  struct memory_call driver;
  __u64 returned_sp;  // of the last call that returned
  struct open_call copy;
  struct open_call launch;  // of the runtime, not yet seen at the driver
  struct chosen_device chosen;
  __u32 inner_copies;
  __u32 copy_direction;  // of the runtime's copy: for a driver copy without a direction
  __u32 program;         // see struct launch_key
  struct nested_call nested[NESTED_CALLS];
};
TABLE(threads, HASH, __u64, struct thread_state, MAX_THREADS);

static __always_inline void count(__u32 what) {
  __u64* value = bpf_map_lookup_elem(&losses, &what);
  // One per processor, but atomic: where the kernel may preempt a program, another one counts.
  if (value) __sync_fetch_and_add(value, 1);
}

static __always_inline __u32 tgidNow(void) { return bpf_get_current_pid_tgid() >> 32; }

__u32 last_program = 0;

// The number of the program that the process runs; it is reported before any record contains it. 0:
// there was no room to report it; the next call tries again.
static __always_inline __u32 programOf(__u32 tgid) {
  __u32* known = bpf_map_lookup_elem(&seen, &tgid);
  if (known) return *known;
  struct system_record* record = bpf_ringbuf_reserve(&system_ring, sizeof(*record), 0);
  if (!record) {
    count(LOSS_SYSTEM_RING);
    return 0;
  }
  __u32 number = __sync_fetch_and_add(&last_program, 1) + 1;
  if (bpf_map_update_elem(&seen, &tgid, &number, BPF_NOEXIST)) {
    bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
    known = bpf_map_lookup_elem(&seen, &tgid);  // another thread was first
    if (known) return *known;
    count(LOSS_THREAD);
    return 0;
  }
  __builtin_memset(record, 0, sizeof(*record));
  record->time_ns = bpf_ktime_get_ns();
  record->cgroup = bpf_get_current_cgroup_id();
  record->event = SYSTEM_FIRST_SEEN;
  record->tgid = tgid;
  record->program = number;
  struct task_struct* task = (struct task_struct*)bpf_get_current_task();
  record->parent = BPF_CORE_READ(task, real_parent, tgid);
  bpf_get_current_comm(record->text, 16);
  bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
  return number;
}

__u32 last_number = 0;  // of spaces, stacks and code objects

static __always_inline __u32 nextNumber(void) {
  return (__sync_fetch_and_add(&last_number, 1) + 1) & 0x7fffffff;
}

static __always_inline __u64 mixed(__u64 hash, __u64 word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

// 0: not watched; else the number of its program.
static __always_inline __u32 isWatched(__u32 tgid) {
  if (tgid == settings.recorder_tgid) return 0;
  if (!settings.watch_all) {
    __u32* flags = bpf_map_lookup_elem(&targets, &tgid);
    if (!flags || !(*flags & TARGET_WATCHED)) return 0;
  }
  if (settings.watched_cgroup &&
      bpf_get_current_ancestor_cgroup_id(settings.watched_cgroup_level) != settings.watched_cgroup)
    return 0;
  return programOf(tgid);
}

// The state of this thread if its process is watched; 0 if not. One look-up, except for the first
// call of a thread.
static __always_inline struct thread_state* watchedThread(__u64 pid_tgid) {
  static const struct thread_state kFresh = {.chosen.device = DEVICE_NEVER_SET};
  struct thread_state* state = bpf_map_lookup_elem(&threads, &pid_tgid);
  if (state) return state;
  __u32 program = isWatched(pid_tgid >> 32);
  if (!program) return 0;
  if (bpf_map_update_elem(&threads, &pid_tgid, &kFresh, BPF_ANY)) {
    count(LOSS_THREAD);
    return 0;
  }
  state = bpf_map_lookup_elem(&threads, &pid_tgid);
  if (state) state->program = program;
  return state;
}

// ---- what the rules of calls.h need -------------------------------------------------------------
typedef struct pt_regs call_entry;
typedef struct thread_state call_thread;

static __always_inline __u64 monotonicNow(void) { return bpf_ktime_get_ns(); }

static __always_inline bool readBytes(void* into, __u64 address, __u32 bytes) {
  return bpf_probe_read_user(into, bytes, (const void*)address) == 0;
}

static __always_inline __u64 readWord(__u64 address) {
  __u64 word = 0;
  if (!readBytes(&word, address, sizeof(word))) {
    count(LOSS_READ_FAULT);
    return 0;
  }
  return word;
}

static __always_inline __u64 argument(call_entry* ctx, __u32 place) {
  switch (place) {
    case 0:
      return 0;
    case 1:
      return PT_REGS_PARM1(ctx);
    case 2:
      return PT_REGS_PARM2(ctx);
    case 3:
      return PT_REGS_PARM3(ctx);
    case 4:
      return PT_REGS_PARM4(ctx);
    case 5:
      return PT_REGS_PARM5(ctx);
    case 6:
      return ctx->r9;
    default:
      return readWord(PT_REGS_SP(ctx) + 8 * (place - 6));
  }
}
