// leaderless: a program that goes on without its first thread, as some runtimes do. A second thread has 16 MiB and
// touches the first 8 of them, round and round, until it is ended; then /proc/PID/maps is empty.
//
// Prints "ADDRESS BYTES" of the memory once the first thread has ended and one round is done.
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

static pthread_t first;

static void* touch(void* unused) {
  const size_t bytes = 16 << 20, hot = 8 << 20, page = 4096;
  (void)unused;
  pthread_join(first, NULL);
  // With a page that nobody may touch on both sides, so that it stays a mapping of its own.
  char* all = mmap(NULL, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return NULL;
  char* memory = all + page;
  if (mprotect(memory, bytes, PROT_READ | PROT_WRITE)) return NULL;
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  for (size_t at = 0; at < bytes; at += page) memory[at] = 1;
  printf("%p %zu\n", (void*)memory, bytes);
  fflush(stdout);
  for (;;)
    for (size_t at = 0; at < hot; at += page) ((volatile char*)memory)[at] += 1;
}

int main(void) {
  pthread_t it;
  first = pthread_self();
  if (pthread_create(&it, NULL, touch, NULL)) return 1;
  pthread_exit(NULL);
}
