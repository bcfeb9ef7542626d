// PyTorch's own probes in libc10_cuda.so: every block of its allocator. They contain the requested
// size and c10's stream id, which is not the CUDA handle.
#pragma once

#include <bpf/usdt.bpf.h>

#include "memory.bpf.h"
#include "unwind.bpf.h"

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

SEC("usdt")
int BPF_USDT(pytorch_malloc, __u64 address, __u64 device, __u64 bytes, __u64 stream) {
  if (!isWatched(tgidNow())) return 0;
  return sendBlock(settings.function_pytorch_malloc, address, bytes, (__s32)(__s8)device, stream,
                   settings.take_block_stacks ? takeStack(ctx, false) : -1);
}

SEC("usdt")
int BPF_USDT(pytorch_free, __u64 address) {
  if (!isWatched(tgidNow())) return 0;
  return sendBlock(settings.function_pytorch_free, address, 0, -1, 0, -1);
}
