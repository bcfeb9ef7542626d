// hot THREADS BLOCKS: each thread allocates blocks of one size and frees all but every 100th at
// once.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "runtime_api.h"

static int blocks;

static void* run(void* unused) {
  (void)unused;
  for (int i = 0; i < blocks; ++i) {
    void* memory = NULL;
    if (cudaMalloc(&memory, 4096) != 0) exit(3);
    if (i % 100 != 0 && cudaFree(memory) != 0) exit(4);
  }
  return NULL;
}

int main(int count, char** words) {
  if (count != 3) return 2;
  int threads = atoi(words[1]);
  blocks = atoi(words[2]);
  pthread_t* all = calloc((size_t)threads, sizeof(*all));
  for (int i = 0; i < threads; ++i) pthread_create(&all[i], NULL, run, NULL);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
  free(all);
  return 0;
}
