// leaderless: a program that continues without its first thread, as some runtimes do. A second
// thread has 16 MiB and touches the first 8 of them repeatedly, until it is ended; without the
// first thread, /proc/PID/maps is empty.
//
// Prints "ADDRESS BYTES" of the memory once the first thread has ended and all of it is there.
// `leaderless later`: the first thread ends at SIGUSR1 only, and a third one some 0.1 s after it.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_t first;
static int is_later;
static volatile sig_atomic_t is_ended;

static void atSignal(int number) {
  (void)number;
  is_ended = 1;
}

static void* waitABit(void* unused) {
  (void)unused;
  while (!is_ended) usleep(1000);
  usleep(100000);
  return NULL;
}

static void* touch(void* unused) {
  const size_t bytes = 16 << 20, hot = 8 << 20, page = 4096;
  (void)unused;
  if (!is_later) pthread_join(first, NULL);
  // With an inaccessible page on both sides, so that it stays a separate mapping.
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

int main(int count, char** words) {
  pthread_t it;
  (void)words;
  is_later = count > 1;
  first = pthread_self();
  signal(SIGUSR1, atSignal);
  if (is_later && pthread_create(&it, NULL, waitABit, NULL)) return 1;
  if (pthread_create(&it, NULL, touch, NULL)) return 1;
  while (is_later && !is_ended) usleep(1000);
  pthread_exit(NULL);
}
