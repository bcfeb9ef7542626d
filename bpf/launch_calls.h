// Launches and names of kernels. What a side defines before it includes this file: calls.h.
//
//   cuLaunchKernel(f, 2, 3, 4, 32, 2, 1) ──► launch_key {kernel f, grid 2 3 4, block 32 2 1}
//   cuModuleGetFunction(out, m, "axpy") ───► name_record {handle *out, name "axpy"}
#pragma once

#include "calls.h"

// The words of cudaLaunchConfig_t and CUlaunchConfig: grid, block, then shared memory and stream.
static __always_inline void readConfig(__u64 config, struct launch_key* key,
                                       struct launch_details* details) {
  struct {
    __u32 grid[3], block[3];
    __u64 shared, stream;
  } it = {{0, 0, 0}, {0, 0, 0}, 0, 0};
  if (!readBytes(&it, config, sizeof(it))) {
    count(LOSS_READ_FAULT);
    return;
  }
  __builtin_memcpy(key->grid, it.grid, sizeof(it.grid));
  __builtin_memcpy(key->block, it.block, sizeof(it.block));
  details->shared_bytes = (__u32)it.shared;
  details->stream = it.stream;  // CUlaunchConfig: u32 shared, 4 bytes of padding, stream
}

// At the entry. The side sets `program`; all else begins as 0. Without `with_details`, those that
// lie on the stack are not read.
static __always_inline void launchArguments(call_entry* entry, __u64 cookie, bool with_details,
                                            struct launch_key* key,
                                            struct launch_details* details) {
  key->kernel = argument(entry, 1);
  key->function = (__u16)cookie;
  switch (COOKIE_PLACE(cookie, COOKIE_SHAPE)) {
    case LAUNCH_SIX_WORDS:
      key->grid[0] = (__u32)argument(entry, 2);
      key->grid[1] = (__u32)argument(entry, 3);
      key->grid[2] = (__u32)argument(entry, 4);
      key->block[0] = (__u32)argument(entry, 5);
      key->block[1] = (__u32)argument(entry, 6);
      key->block[2] = (__u32)argument(entry, 7);
      if (with_details) {
        details->shared_bytes = (__u32)argument(entry, 8);
        details->stream = argument(entry, 9);
        details->arguments = argument(entry, 10);
      }
      break;
    case LAUNCH_DIM3:
      key->grid[0] = (__u32)argument(entry, 2);
      key->grid[1] = (__u32)(argument(entry, 2) >> 32);
      key->grid[2] = (__u32)argument(entry, 3);
      key->block[0] = (__u32)argument(entry, 4);
      key->block[1] = (__u32)(argument(entry, 4) >> 32);
      key->block[2] = (__u32)argument(entry, 5);
      if (with_details) {
        details->arguments = argument(entry, 6);
        details->shared_bytes = (__u32)argument(entry, 7);
        details->stream = argument(entry, 8);
      }
      break;
    case LAUNCH_CONFIG:
      key->kernel = argument(entry, 2);
      readConfig(argument(entry, 1), key, details);
      details->arguments = argument(entry, 3);
      break;
    default:  // a graph: the launches inside are not seen
      details->stream = argument(entry, 2);
  }
}

// The side fills in the time, the thread, its device and stack; the arguments begin as 0.
static __always_inline void fillLaunch(struct launch_record* record, const struct launch_key* key,
                                       const struct launch_details* details) {
  record->kernel = key->kernel;
  record->stream = details->stream;
  __builtin_memcpy(record->grid, key->grid, sizeof(record->grid));
  __builtin_memcpy(record->block, key->block, sizeof(record->block));
  record->shared_bytes = details->shared_bytes;
  record->function = key->function;
}

// At the entry of a function that returns a kernel: `out` is where the kernel comes out, `address`
// its name, `handle` the kernel that it is made from.
static __always_inline void nameArguments(call_entry* entry, __u64 cookie, struct flight* flight) {
  flight->out = argument(entry, COOKIE_PLACE(cookie, COOKIE_OUT));
  flight->address = argument(entry, COOKIE_PLACE(cookie, COOKIE_ADDRESS));
  flight->handle = argument(entry, COOKIE_PLACE(cookie, COOKIE_BYTES));
}
