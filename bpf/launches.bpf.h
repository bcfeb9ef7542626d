// Launches of kernels: counted in the kernel by process, kernel and geometry; nothing is sent. Only
// entries are watched, one probe per call.
//
//   cudaLaunchKernel(stub) ── counted under the stub, which has a name
//     └ cuLaunchKernel(f)  ── the same launch: not counted again
//   cuLaunchKernel(f)      ── of a program without the runtime: counted under f
//
// A runtime launch that failed before the driver was called stays open until its frame is gone.
#pragma once

#include "counted.bpf.h"
#include "launch_calls.h"
#include "open_calls.bpf.h"

RING(launch_ring, 4096);  // 8 MiB if asked for

// A row only takes memory while it exists (100 bytes).
COUNTED_TABLE(launches, struct launch_key, __u64, LAUNCH_ROWS, BPF_F_NO_PREALLOC);
TABLE(launches_beyond, HASH, struct beyond_key, __u64, MAX_PROCESSES);

TABLE(parameters_of, HASH, struct parameter_key, struct parameter_sizes, 1);  // more if asked for

// A record and its parameters. Space for twice as much lets the verifier see that an offset and a
// size within the bounds stay inside.
struct whole_launch_few {
  struct launch_record record;
  __u8 bytes[2 * WHOLE_BYTES_FEW];
};
struct whole_launch {
  struct launch_record record;
  __u8 bytes[2 * WHOLE_BYTES];
};

static __always_inline void fillEvent(struct launch_record* record, const struct launch_key* key,
                                      const struct launch_details* details, __u64 thread_id,
                                      const struct thread_state* thread, __s32 stack) {
  __builtin_memset(record, 0, sizeof(*record));
  record->time_ns = bpf_ktime_get_ns();
  record->tgid = thread_id >> 32;
  record->tid = (__u32)thread_id;
  record->device = thread->chosen.device;
  fillLaunch(record, key, details);
  record->stack = stack;
}

// As many parameters as are readable and fit into `most` bytes, a power of two.
static __always_inline void copyParameters(struct launch_record* record, __u8* bytes, __u32 most,
                                           const struct parameter_sizes* sizes, __u64 arguments) {
  __u32 at = 0, count = 0;
  for (__u32 i = 0; i < WHOLE_PARAMETERS; ++i) {
    if (i >= sizes->count) break;
    __u32 size = sizes->size[i];
    __u64 from = 0;
    if (size > most || at + size > most) break;
    if (!readBytes(&from, arguments + 8 * i, 8) || !from) break;
    if (bpf_probe_read_user(bytes + (at & (most - 1)), size, (const void*)from)) break;
    at += size;
    count = i + 1;
  }
  record->arguments = count;
  record->whole = 1;
  record->whole_bytes = at;
}

// True: the parameters of this kernel are known, and its record is sent or lost.
static __always_inline bool sendWithParameters(const struct launch_key* key,
                                               const struct launch_details* details,
                                               __u64 thread_id, const struct thread_state* thread,
                                               __s32 stack) {
  struct parameter_key kernel = {.kernel = key->kernel, .program = key->program};
  struct parameter_sizes* sizes = bpf_map_lookup_elem(&parameters_of, &kernel);
  if (!sizes || !details->arguments) return false;
  __u32 bytes = 0;
  for (__u32 i = 0; i < WHOLE_PARAMETERS; ++i) {
    if (i >= sizes->count) break;
    bytes += sizes->size[i];
  }
  if (bytes <= WHOLE_BYTES_FEW) {
    struct whole_launch_few* few = bpf_ringbuf_reserve(&launch_ring, sizeof(*few), 0);
    if (few) {
      fillEvent(&few->record, key, details, thread_id, thread, stack);
      copyParameters(&few->record, few->bytes, WHOLE_BYTES_FEW, sizes, details->arguments);
      bpf_ringbuf_submit(few, BPF_RB_NO_WAKEUP);
      return true;
    }
  } else {
    struct whole_launch* all = bpf_ringbuf_reserve(&launch_ring, sizeof(*all), 0);
    if (all) {
      fillEvent(&all->record, key, details, thread_id, thread, stack);
      copyParameters(&all->record, all->bytes, WHOLE_BYTES, sizes, details->arguments);
      bpf_ringbuf_submit(all, BPF_RB_NO_WAKEUP);
      return true;
    }
  }
  count(LOSS_LAUNCH_RING);
  return true;
}

static __always_inline void sendLaunch(const struct launch_key* key,
                                       const struct launch_details* details, __u64 thread_id,
                                       const struct thread_state* thread, __s32 stack) {
  if (settings.whole_arguments && sendWithParameters(key, details, thread_id, thread, stack))
    return;
  struct launch_record* record = bpf_ringbuf_reserve(&launch_ring, sizeof(*record), 0);
  if (!record) {
    count(LOSS_LAUNCH_RING);
    return;
  }
  fillEvent(record, key, details, thread_id, thread, stack);
  // Arguments are pointers to values of unknown size: their first words, as far as they are
  // readable.
  for (__u32 i = 0; i < 16; ++i) {
    if (i >= settings.launch_arguments || !details->arguments) break;
    __u64 at = 0;
    if (!readBytes(&at, details->arguments + 8 * i, 8) || !at) break;
    if (!readBytes(&record->argument[i], at, 8)) break;
    record->arguments = i + 1;
  }
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void countBeyond(const struct launch_key* launch) {
  struct beyond_key key = {.program = launch->program, .function = launch->function};
  __u64 zero = 0;
  count(LOSS_LAUNCH_TABLE);
  __u64* calls = bpf_map_lookup_elem(&launches_beyond, &key);
  if (!calls) {
    bpf_map_update_elem(&launches_beyond, &key, &zero, BPF_NOEXIST);
    calls = bpf_map_lookup_elem(&launches_beyond, &key);
  }
  if (calls) __sync_fetch_and_add(calls, 1);
}

static __always_inline void countLaunch(const struct launch_key* key) {
  __u64 zero = 0;
  __u64* calls = countedRow(&launches, key, &zero, COUNTED_LAUNCHES);
  if (calls)
    __sync_fetch_and_add(calls, 1);
  else
    countBeyond(key);
}

SEC("uprobe")
int launch_enter(struct pt_regs* ctx) {
  __u64 thread_id = bpf_get_current_pid_tgid(), cookie = bpf_get_attach_cookie(ctx);
  struct thread_state* thread = watchedThread(thread_id);
  if (!thread) return 0;
  bool runtime = COOKIE_PLACE(cookie, COOKIE_RUNTIME);
  if (isOpen(ctx, thread, &thread->launch)) {
    if (!runtime) thread->launch.sp = 0;  // found its driver launch
    count(COUNT_NESTED);
    return 0;
  }
  if (runtime) openCall(ctx, &thread->launch);
  // Before the arguments: after them the verifier would check the walk for each kind of launch.
  __s32 stack = settings.launch_events ? takeStack(ctx, true) : -1;
  struct launch_key key = {.program = thread->program};
  struct launch_details details = {};
  launchArguments(ctx, cookie, settings.launch_events, &key, &details);
  countLaunch(&key);
  if (settings.launch_events) sendLaunch(&key, &details, thread_id, thread, stack);
  return 0;
}
