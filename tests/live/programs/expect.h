// A live program's own account: it counts its requests as it makes them, and writes one line of
// JSON per process to the file in EXPECT, before it ends or is killed.
//
//   must(cudaMalloc(&p, 4096), 0);  took(DEVICE, 4096);
//   must(cudaFree(p), 0);           gave(DEVICE, 4096);
//   return finish();
//
// It is independent of the recorder; twin.py computes the same numbers from the recording.
#pragma once

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver_api.h"
#include "runtime_api.h"

enum kind { DEVICE, MANAGED, PINNED, REGISTERED, POOL, PHYSICAL, ARRAY, KINDS };
static const char* const kind_names[KINDS] = {
    "device", "managed", "pinned host", "registered host", "pool", "physical", "array"};

static struct {
  _Atomic uint64_t live[KINDS], allocations[KINDS], frees[KINDS];
  _Atomic uint64_t total, peak;  // all that takes device memory
  _Atomic uint64_t failures, launches, aliases, to_device, to_host;
} expected;

static inline int isOnDevice(enum kind kind) { return kind != PINNED && kind != REGISTERED; }

static inline void took(enum kind kind, uint64_t bytes) {
  expected.live[kind] += bytes;
  expected.allocations[kind] += 1;
  if (!isOnDevice(kind)) return;
  uint64_t total = expected.total += bytes, peak = expected.peak;
  while (peak < total && !atomic_compare_exchange_weak(&expected.peak, &peak, total)) continue;
}
static inline void lost(enum kind kind, uint64_t bytes) {  // freed without a call
  expected.live[kind] -= bytes;
  if (isOnDevice(kind)) expected.total -= bytes;
}
static inline void gave(enum kind kind, uint64_t bytes) {
  lost(kind, bytes);
  expected.frees[kind] += 1;
}

#define must(call, wanted) mustBe(call, wanted, #call, __LINE__)
static inline void mustBe(int got, int wanted, const char* call, int line) {
  if (got == wanted) return;
  fprintf(stderr, "line %d: %s returned %d, not %d\n", line, call, got, wanted);
  exit(99);
}
static inline void failed(int got, int wanted, int calls) {
  mustBe(got, wanted, "a call that fails", 0);
  expected.failures += (uint64_t)calls;
}

static inline int finish(void) {
  const char* path = getenv("EXPECT");
  if (path == NULL) return 0;
  char text[4096];
  int n = snprintf(text, sizeof(text), "{\"pid\": %d, \"peak_bytes\": %llu", getpid(),
                   (unsigned long long)expected.peak);
  const char* names[] = {"live", "allocations", "frees"};
  _Atomic uint64_t* lists[] = {expected.live, expected.allocations, expected.frees};
  for (int list = 0; list < 3; ++list) {
    n += snprintf(text + n, sizeof(text) - (size_t)n, ", \"%s\": {", names[list]);
    for (int i = 0; i < KINDS; ++i)
      n += snprintf(text + n, sizeof(text) - (size_t)n, "%s\"%s\": %llu", i ? ", " : "",
                    kind_names[i], (unsigned long long)lists[list][i]);
    n += snprintf(text + n, sizeof(text) - (size_t)n, "}");
  }
  n += snprintf(text + n, sizeof(text) - (size_t)n,
                ", \"failures\": %llu, \"launches\": %llu, \"aliases\": %llu, "
                "\"to_device\": %llu, \"to_host\": %llu}\n",
                (unsigned long long)expected.failures, (unsigned long long)expected.launches,
                (unsigned long long)expected.aliases, (unsigned long long)expected.to_device,
                (unsigned long long)expected.to_host);
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file < 0 || write(file, text, (size_t)n) != n) return 98;
  return close(file);
}
