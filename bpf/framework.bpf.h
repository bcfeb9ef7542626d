// PyTorch's own probes in libc10_cuda.so: every block of its allocator. They contain the requested
// size and c10's stream id, which is not the CUDA handle.
#pragma once

#include "memory.bpf.h"
#include "probe_places.h"
#include "unwind.bpf.h"

// By the cookie of the probe.
TABLE(probe_places, HASH, __u32, struct probe_place, 1024);

static __noinline __u64 registerAt(struct pt_regs* ctx, __s16 position) {
  __u64 value = 0;
  if (position < 0 || position > (__s16)(sizeof(*ctx) - sizeof(value))) return 0;
  bpf_probe_read_kernel(&value, sizeof(value), (const char*)ctx + position);
  return value;
}

static __noinline __u64 probeArgument(struct pt_regs* ctx, __u32 at) {
  __u32 cookie = (__u32)bpf_get_attach_cookie(ctx);
  const struct probe_place* place = bpf_map_lookup_elem(&probe_places, &cookie);
  if (!place || at >= PROBE_ARGUMENTS || at >= place->arguments) return 0;
  const struct probe_argument* it = &place->argument[at];
  __u64 value = registerAt(ctx, it->base) + registerAt(ctx, it->index) * it->scale + it->number;
  if (it->in_memory) value = readWord(value);
  __u32 unused = 64 - 8 * (it->bytes & 15);
  if (unused == 0 || unused > 56) return value;
  value <<= unused;
  return it->is_signed ? (__u64)((__s64)value >> unused) : value >> unused;
}

static __always_inline int sendBlock(__u16 function, __u64 address, __u64 bytes, __s32 device,
                                     __u64 stream, __s32 stack) {
  __u64 now_ns = monotonicNow();
  struct memory_record* record = memoryRecord(bpf_get_current_pid_tgid());
  if (!record) return 0;
  struct flight block = {.start_ns = now_ns,
                         .address = address,
                         .bytes = bytes,
                         .stream = stream,
                         .stack = stack,
                         .device = device};
  fillMemory(record, &block, function, device, 0, now_ns);
  sendMemory(record);
  return 0;
}

SEC("uprobe")
int pytorch_malloc(struct pt_regs* ctx) {
  if (!isWatched(tgidNow())) return 0;
  __u64 address = probeArgument(ctx, 0), device = probeArgument(ctx, 1);
  __u64 bytes = probeArgument(ctx, 2), stream = probeArgument(ctx, 3);
  return sendBlock(settings.function_pytorch_malloc, address, bytes, (__s32)(__s8)device, stream,
                   settings.take_block_stacks ? takeStack(ctx, false) : -1);
}

SEC("uprobe")
int pytorch_free(struct pt_regs* ctx) {
  if (!isWatched(tgidNow())) return 0;
  return sendBlock(settings.function_pytorch_free, probeArgument(ctx, 0), 0, -1, 0, -1);
}
