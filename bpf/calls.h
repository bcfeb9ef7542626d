// The rules by which a call becomes a record, shared by the BPF programs and the preloaded library.
// The two sides differ in how they read the program's memory, and in where they keep a call between
// its entry and its return.
//
//   cuMemAlloc_v2(out, 4096) ─ entry ──► memoryArguments() ──► struct flight {out, bytes 4096}
//                            ─ return ─► fillMemory() ◄──────────┘
//                                          └► memory_record {address *out, size_bytes 4096}
//
//   memory_calls.h    calls that move memory
//   context_calls.h   which device a thread is on
//   copy_calls.h      copies and memsets
//   launch_calls.h    launches and names of kernels
//
// A side defines these first (common.bpf.h, contexts.bpf.h; preload/calls.c):
//
//   call_entry                       type: registers and stack at the entry of a call
//   call_thread                      type: what is kept of a thread
//   argument(entry, place)           the argument at a place of a cookie (records.h)
//   readBytes(into, address, bytes)  from the program's memory; false if it cannot be read
//   readWord(address)                8 bytes; if they cannot be read: 0, and the side counts a loss
//   count(what)                      adds one to a counter of enum loss
//   monotonicNow()                   CLOCK_MONOTONIC in ns
//   keepContext(context, tgid, device), deviceOf(context, tgid)   which device a context is on
//
// The kernel's verifier reads all of it: everything is inlined, without loops and pointers to
// functions. Cost: what a side takes to read and to send; all else is arithmetic.
#pragma once

#include <linux/types.h>  // before records.h, which uses it

#include "records.h"

// A call between its entry and its return. `inner` begins as 0.
struct flight {
  __u64 start_ns;
  __u64 out, address, bytes, times, handle, stream, offset;  // arguments; see enum cookie_shift
  __s32 stack;                                               // < 0: none
  __s32 device;                                              // < 0: the one that the thread is on
  __u32 inner;  // of the runtime: calls of the driver inside it that have a record
  __u16 function;
  __u8 in_runtime;  // of the driver: inside a call of the runtime
  __u8 reserved;
};

// A copy or memset between its entry and its return. `nested` begins as 0.
struct copy_flight {
  __u64 start_ns;
  __u64 bytes;
  __u32 direction;  // enum copy_direction
  __u32 nested;     // inside another call of the runtime, which counts it
};

// Which device a thread is on, and was on before each context that it pushed.
#define PUSHED_DEVICES 8  // a power of two
struct chosen_device {
  __s32 device;  // enum device_of_thread, or its number
  __s32 pushed[PUSHED_DEVICES];
  __u32 pushes;
};

// What launch_record has beside launch_key.
struct launch_details {
  __u64 stream, arguments;
  __u32 shared_bytes;
};
