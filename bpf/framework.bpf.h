// PyTorch's own probes in libc10_cuda.so: every block of its allocator. They contain the requested
// size and c10's stream id, which is not the CUDA handle.
#pragma once

#include <bpf/usdt.bpf.h>

#include "unwind.bpf.h"

static __always_inline int sendBlock(__u16 function, __u64 address, __u64 bytes, __s32 device,
                                     __u64 stream, __s32 stack) {
  __u64 thread_id = bpf_get_current_pid_tgid();
  struct memory_record* record = bpf_ringbuf_reserve(&memory_ring, sizeof(*record), 0);
  if (!record) {
    count(LOSS_MEMORY_RING);
    return 0;
  }
  __builtin_memset(record, 0, sizeof(*record));
  record->start_ns = record->end_ns = bpf_ktime_get_ns();
  record->address = address;
  record->size_bytes = bytes;
  record->stream = stream;
  record->tgid = thread_id >> 32;
  record->tid = (__u32)thread_id;
  record->device = device;
  record->function = function;
  record->stack = stack;
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  count(COUNT_MEMORY_RECORDS);
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
