// geometries COUNT THREADS [wait]: COUNT launches, each with its own geometry; with `wait`, waits
// for a line first.
#include <pthread.h>

#include "expect.h"

static void kernel(void) {}
static unsigned count, threads;

static void* run(void* first) {
  for (unsigned i = (unsigned)(uintptr_t)first; i < count; i += threads) {
    must(cuLaunchKernel((void*)kernel, i + 1, 2, 3, 32, 1, 1, 0, NULL, NULL, NULL), 0);
    expected.launches += 1;
  }
  return NULL;
}

int main(int argc, char** argv) {
  char line[8];
  if (argc < 3) return 97;
  count = (unsigned)atoi(argv[1]), threads = (unsigned)atoi(argv[2]);
  pthread_t all[64];
  if (threads == 0 || threads > 64) return 97;
  if (argc > 3 && (puts("ready") < 0 || fflush(stdout) != 0 || !fgets(line, sizeof(line), stdin)))
    return 97;
  for (uintptr_t i = 0; i < threads; ++i) pthread_create(&all[i], NULL, run, (void*)i);
  for (unsigned i = 0; i < threads; ++i) pthread_join(all[i], NULL);
  if (argc > 3 && (puts("done") < 0 || fflush(stdout) != 0)) return 97;
  return finish();
}
