// threads N M [stopped]: N threads at once, each with M pairs and one block that it holds until all
// have one; "stopped": the parent process (the recorder) is stopped until the last has ended.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "expect.h"

static pthread_barrier_t all_hold;
static int pairs;

static void* work(void* number) {
  size_t bytes = 4096 + 64 * (size_t)(intptr_t)number;
  void *held, *p;
  must(cudaMalloc(&held, bytes), 0), took(DEVICE, bytes);
  pthread_barrier_wait(&all_hold);
  for (int i = 0; i < pairs; ++i) {
    must(cudaMallocAsync(&p, bytes, NULL), 0), took(POOL, bytes);
    must(cudaFreeAsync(p, NULL), 0), gave(POOL, bytes);
  }
  pthread_barrier_wait(&all_hold);
  must(cudaFree(held), 0), gave(DEVICE, bytes);
  return NULL;
}

int main(int count, char** words) {
  int threads = count > 1 ? atoi(words[1]) : 8;
  pairs = count > 2 ? atoi(words[2]) : 4;
  pid_t stopped = count > 3 ? getppid() : 0;
  pthread_barrier_init(&all_hold, NULL, (unsigned)threads);
  pthread_t* ids = calloc((size_t)threads, sizeof(*ids));
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 << 10);
  if (stopped) {  // once the driver is loaded: for that a program waits for the recorder
    void* first;
    must(cudaMalloc(&first, 512), 0), took(DEVICE, 512);
    must(cudaFree(first), 0), gave(DEVICE, 512);
    kill(stopped, SIGSTOP);
  }
  for (intptr_t i = 0; i < threads; ++i) must(pthread_create(&ids[i], &small, work, (void*)i), 0);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  if (stopped) kill(stopped, SIGCONT);
  expected.peak = 0;  // depends on the order of the threads: not printed
  return finish();
}
