// Which device a thread is on: the driver knows it by the current context, the runtime by number.
// Each side keeps it, so that a record of memory carries its device and cudaSetDevice(), which some
// programs call all the time, has no record. What a side defines before it includes this file:
// calls.h.
//
//   cuCtxCreate(out, flags, 1)   context A is on device 1, and so is the thread     record
//   cuCtxPushCurrent(B)          device of B; the 1 is put aside                    none
//   cuCtxPopCurrent(out)         1 again                                            none
#pragma once

#include "calls.h"

// At the entry.
static __always_inline void contextArguments(call_entry* entry, __u64 cookie,
                                             struct flight* flight) {
  flight->start_ns = monotonicNow();
  flight->out = argument(entry, COOKIE_PLACE(cookie, COOKIE_OUT));
  flight->handle = argument(entry, COOKIE_PLACE(cookie, COOKIE_HANDLE));
}

// After a success. True: the call has a record, of the context `handle` and its `device`.
static __always_inline bool contextReturned(struct flight* flight, __u64 cookie, __u32 tgid,
                                            struct chosen_device* chosen) {
  bool runtime = COOKIE_PLACE(cookie, COOKIE_RUNTIME);
  __u32 verb = COOKIE_PLACE(cookie, COOKIE_VERB);
  __u64 given = flight->handle;
  flight->device = chosen->device;
  switch (verb) {
    case VERB_CREATE:
    case VERB_RETAIN:
      flight->device = (__s32)given;
      flight->handle = readWord(flight->out);
      keepContext(flight->handle, tgid, flight->device);
      if (verb == VERB_CREATE) chosen->device = flight->device;
      return true;
    case VERB_SET:
      chosen->device = runtime ? (__s32)given : deviceOf(given, tgid);
      return false;
    case VERB_PUSH:
      if (chosen->pushes < PUSHED_DEVICES)
        chosen->pushed[chosen->pushes & (PUSHED_DEVICES - 1)] = chosen->device;
      chosen->pushes += 1;
      chosen->device = deviceOf(given, tgid);
      return false;
    case VERB_POP:
      if (chosen->pushes == 0) {
        chosen->device = DEVICE_NEVER_SET;
        return false;
      }
      chosen->pushes -= 1;
      chosen->device = chosen->pushes < PUSHED_DEVICES
                           ? chosen->pushed[chosen->pushes & (PUSHED_DEVICES - 1)]
                           : DEVICE_UNKNOWN;
      return false;
    case VERB_DESTROY:
      flight->device = deviceOf(given, tgid);
      return true;
    default:  // released, reset: the device is given
      if (!runtime) flight->device = (__s32)given;
      return true;
  }
}

// The record of such a call. The side fills in `tgid` and `tid`.
static __always_inline void fillContext(struct memory_record* record, const struct flight* flight,
                                        __u64 cookie) {
  record->start_ns = flight->start_ns;
  record->end_ns = monotonicNow();
  record->address = record->size_bytes = record->stream = record->offset = 0;
  record->handle = flight->handle;
  record->device = flight->device;
  record->code = 0;
  record->function = (__u16)cookie;
  record->inner = record->flags = 0;
  record->stack = -1;
}
