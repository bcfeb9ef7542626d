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
#include "open_calls.bpf.h"

RING(launch_ring, 4096);  // 8 MiB if asked for

// A row only takes memory while it exists (100 bytes).
COUNTED_TABLE(launches, struct launch_key, __u64, LAUNCH_ROWS, BPF_F_NO_PREALLOC);
TABLE(launches_beyond, HASH, struct beyond_key, __u64, MAX_PROCESSES);

struct launch_place {
  __u64 stream, arguments;
  __u32 shared_bytes;
};

// The words of cudaLaunchConfig_t and CUlaunchConfig: grid, block, then shared memory and stream.
static __always_inline void readConfig(__u64 config, bool runtime, struct launch_key* key,
                                       struct launch_place* place) {
  struct {
    __u32 grid[3], block[3];
    __u64 shared, stream;
  } it = {};
  if (bpf_probe_read_user(&it, sizeof(it), (const void*)config)) {
    count(LOSS_READ_FAULT);
    return;
  }
  __builtin_memcpy(key->grid, it.grid, sizeof(it.grid));
  __builtin_memcpy(key->block, it.block, sizeof(it.block));
  place->shared_bytes = (__u32)it.shared;
  place->stream = it.stream;  // CUlaunchConfig: u32 shared, 4 bytes of padding, stream
}

static __always_inline void sendLaunch(struct pt_regs* ctx, const struct launch_key* key,
                                       const struct launch_place* place, __u64 thread_id,
                                       const struct thread_state* thread) {
  struct launch_record* record = bpf_ringbuf_reserve(&launch_ring, sizeof(*record), 0);
  if (!record) {
    count(LOSS_LAUNCH_RING);
    return;
  }
  __builtin_memset(record, 0, sizeof(*record));
  record->time_ns = bpf_ktime_get_ns();
  record->kernel = key->kernel;
  record->stream = place->stream;
  record->tgid = thread_id >> 32;
  record->tid = (__u32)thread_id;
  __builtin_memcpy(record->grid, key->grid, sizeof(record->grid));
  __builtin_memcpy(record->block, key->block, sizeof(record->block));
  record->shared_bytes = place->shared_bytes;
  record->device = thread->device;
  record->function = key->function;
  record->stack = takeStack(ctx, true);
  // Arguments are pointers to values of unknown size: their first words, as far as they are
  // readable.
  for (__u32 i = 0; i < 16; ++i) {
    if (i >= settings.launch_arguments || !place->arguments) break;
    __u64 at = 0;
    if (bpf_probe_read_user(&at, 8, (const void*)(place->arguments + 8 * i)) || !at) break;
    if (bpf_probe_read_user(&record->argument[i], 8, (const void*)at)) break;
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
  __u64 sp = PT_REGS_SP(ctx);
  bool runtime = COOKIE_PLACE(cookie, COOKIE_RUNTIME);
  if (isOpen(ctx, thread, &thread->launch)) {
    if (!runtime) thread->launch.sp = 0;  // found its driver launch
    count(COUNT_NESTED);
    return 0;
  }
  if (runtime) openCall(ctx, &thread->launch);
  struct launch_key key = {
      .kernel = PT_REGS_PARM1(ctx), .program = thread->program, .function = cookie & 0xffff};
  struct launch_place place = {};
  switch (COOKIE_PLACE(cookie, COOKIE_SHAPE)) {
    case LAUNCH_SIX_WORDS:
      key.grid[0] = (__u32)PT_REGS_PARM2(ctx);
      key.grid[1] = (__u32)PT_REGS_PARM3(ctx);
      key.grid[2] = (__u32)PT_REGS_PARM4(ctx);
      key.block[0] = (__u32)PT_REGS_PARM5(ctx);
      key.block[1] = (__u32)ctx->r9;
      key.block[2] = (__u32)userWord(sp + 8);
      if (settings.launch_events) {
        place.shared_bytes = (__u32)userWord(sp + 16);
        place.stream = userWord(sp + 24);
        place.arguments = userWord(sp + 32);
      }
      break;
    case LAUNCH_DIM3:
      key.grid[0] = (__u32)PT_REGS_PARM2(ctx);
      key.grid[1] = (__u32)(PT_REGS_PARM2(ctx) >> 32);
      key.grid[2] = (__u32)PT_REGS_PARM3(ctx);
      key.block[0] = (__u32)PT_REGS_PARM4(ctx);
      key.block[1] = (__u32)(PT_REGS_PARM4(ctx) >> 32);
      key.block[2] = (__u32)PT_REGS_PARM5(ctx);
      if (settings.launch_events) {
        place.arguments = ctx->r9;
        place.shared_bytes = (__u32)userWord(sp + 8);
        place.stream = userWord(sp + 16);
      }
      break;
    case LAUNCH_CONFIG:
      key.kernel = PT_REGS_PARM2(ctx);
      readConfig(PT_REGS_PARM1(ctx), runtime, &key, &place);
      place.arguments = PT_REGS_PARM3(ctx);
      break;
    default:  // a graph: the launches inside are not seen
      place.stream = PT_REGS_PARM2(ctx);
  }
  countLaunch(&key);
  if (settings.launch_events) sendLaunch(ctx, &key, &place, thread_id, thread);
  return 0;
}
