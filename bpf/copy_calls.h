// Copies and memsets: their direction and bytes, and which of two calls inside each other counts.
// What a side defines before it includes this file: calls.h, and about the outermost copy of the
// runtime in a thread:
//
//   isInsideCopy(entry, thread)   at an entry: is this call made inside it?
//   openCopy(entry, thread)       this call is it
//   closeCopy(thread)             it returns
//   hasOpenCopy(entry, thread)    at a return: is there one that has not returned?
//
//   cudaMemcpy(kind H2D) ─┬ cuMemcpyHtoD_v2 ──► counted, with the bytes
//                         └ at its return: counted only if no copy of the driver was seen inside
#pragma once

#include "calls.h"

// At the entry. The driver's call inside one of the runtime may not say its direction.
static __always_inline void copyArguments(call_entry* entry, call_thread* thread, __u64 cookie,
                                          struct copy_flight* flight) {
  flight->start_ns = monotonicNow();
  flight->direction = COOKIE_PLACE(cookie, COOKIE_DIRECTION);
  __u32 kind_place = COOKIE_PLACE(cookie, COOKIE_HANDLE);
  if (kind_place) {
    __u32 kind = (__u32)argument(entry, kind_place);
    flight->direction = kind < COPY_UNKNOWN ? kind : (__u32)COPY_UNKNOWN;
  }
  bool inside = isInsideCopy(entry, thread);
  if (COOKIE_PLACE(cookie, COOKIE_RUNTIME)) {
    flight->nested = inside;
    if (!inside) {
      openCopy(entry, thread);
      thread->inner_copies = 0;
      thread->copy_direction = flight->direction;
    }
  } else if (inside && flight->direction == COPY_UNKNOWN) {
    flight->direction = thread->copy_direction;
  }
  flight->bytes = argument(entry, COOKIE_PLACE(cookie, COOKIE_BYTES));
  if (COOKIE_PLACE(cookie, COOKIE_TIMES))
    flight->bytes *= argument(entry, COOKIE_PLACE(cookie, COOKIE_TIMES));
  flight->bytes *= COOKIE_PLACE(cookie, COOKIE_ELEMENT);
}

// At the return. False: another call has counted it already.
static __always_inline bool isCopyCounted(call_entry* entry, call_thread* thread, __u64 cookie,
                                          const struct copy_flight* flight) {
  bool counted = !flight->nested;
  if (counted && COOKIE_PLACE(cookie, COOKIE_RUNTIME)) {
    closeCopy(thread);
    counted = !thread->inner_copies;
  } else if (counted && hasOpenCopy(entry, thread)) {
    thread->inner_copies += 1;
  }
  if (!counted) count(COUNT_NESTED);
  return counted;
}

// At the return: the row to which the copy is added.
static __always_inline struct copy_key copyKey(const struct copy_flight* flight, __u64 cookie,
                                               __u32 program) {
  struct copy_key key = {program, (__u8)flight->direction,
                         (__u8)COOKIE_PLACE(cookie, COOKIE_SUBMITTED), (__u16)cookie};
  return key;
}

// `sum`: that row; 0: there is no room for it.
static __always_inline void addCopy(struct copy_sum* sum, const struct copy_flight* flight,
                                    __s32 code, __u64 end_ns) {
  if (!sum) {
    count(LOSS_COPY_TABLE);
  } else if (code != 0) {
    __sync_fetch_and_add(&sum->failures, 1);
  } else {
    __sync_fetch_and_add(&sum->calls, 1);
    __sync_fetch_and_add(&sum->bytes, flight->bytes);
    __sync_fetch_and_add(&sum->time_ns, end_ns - flight->start_ns);
  }
}
