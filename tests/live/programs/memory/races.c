// races THREADS CALLS SEED: each thread allocates blocks of random sizes and frees them in any
// order, by the driver or the runtime. What the driver held at most is dumped to the file in DUMP.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "driver_api.h"
#include "runtime_api.h"

enum { MOST_HELD = 6 };
static int calls, seed;

static uint64_t next(uint64_t* random) {
  *random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
  return *random;
}

static void* run(void* number) {
  uint64_t random = ((uint64_t)(uintptr_t)number + 1) * 0x9e3779b97f4a7c15u + (uint64_t)seed;
  uint64_t held[MOST_HELD];
  int count = 0;
  if (cudaFree(NULL) != 0) exit(3);  // makes the context
  for (int i = 0; i < calls; ++i) {
    int by_driver = next(&random) % 2 == 0;
    if (count < MOST_HELD && (count == 0 || next(&random) % 2 == 0)) {
      uint64_t bytes = 4096 * (next(&random) % 64 + 1);
      int code =
          by_driver ? cuMemAlloc_v2(&held[count], bytes) : cudaMalloc((void**)&held[count], bytes);
      if (code != 0) exit(4);
      ++count;
    } else {
      int which = (int)(next(&random) % (uint64_t)count);
      int code = by_driver ? cuMemFree_v2(held[which]) : cudaFree((void*)(uintptr_t)held[which]);
      if (code != 0) exit(5);
      held[which] = held[--count];
    }
  }
  return NULL;
}

int main(int words, char** word) {
  if (words != 4) return 2;
  int threads = atoi(word[1]);
  calls = atoi(word[2]);
  seed = atoi(word[3]);
  pthread_t* all = calloc((size_t)threads, sizeof(*all));
  for (int i = 0; i < threads; ++i) pthread_create(&all[i], NULL, run, (void*)(uintptr_t)i);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
  free(all);
  return fake_gpu_dump(getenv("DUMP"));
}
