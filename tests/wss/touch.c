// touch RSS_MIB HOT_MIB [scattered] [random] [rate=MIB_S] [huge] [read] [locked=MIB] [swapped]
// [reserved] [file] [cold=MIB] [hidden=MIB] [later=MIB] [split] [moved=MIB] [child]
// [mappings=COUNT]: has RSS_MIB of memory and touches HOT_MIB
// of it, page by page, round and round, until it is ended. What it touches is the truth that `wss`
// is held against.
//
//   contiguous: the first HOT_MIB      scattered: every (RSS / HOT)th page
//   random: in random order            rate=100: MiB per second, evenly, not as fast as possible
//   file: shared memory of a file      cold=100: MiB more of private memory, never touched again
//   hidden=100: MiB more, filled and then PROT_NONE
//   mappings=100: more mappings, of a page each, filled and never touched again
//   at SIGUSR1, once: later=100: MiB more are mapped and filled; split: what it touches gets a
//   mapping of its own; moved=100: MiB that it filled before move elsewhere (mremap);
//   child: one that it forked ends
//
// Prints "ADDRESS BYTES" of the memory once all of it is there and one round is done. One core is
// enough.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t is_later;

static void atSignal(int number) {
  (void)number;
  is_later = 1;
}

static void* filled(size_t bytes) {
  char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) exit(1);
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  memset(memory, 1, bytes);
  return memory;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// The numbers 0 to count - 1 in an order of chance, the same each time.
static uint32_t* shuffled(size_t count) {
  uint32_t* order = malloc(count * sizeof(*order));
  uint64_t seed = 1;
  for (size_t i = 0; i < count; ++i) order[i] = (uint32_t)i;
  for (size_t i = count - 1; i > 0; --i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    size_t other = (seed >> 33) % (i + 1);
    uint32_t it = order[i];
    order[i] = order[other];
    order[other] = it;
  }
  return order;
}

int main(int count, char** words) {
  const size_t page = 4096, huge = 2 << 20;
  if (count < 3) return 2;
  size_t bytes = strtoul(words[1], NULL, 10) << 20, hot = strtoul(words[2], NULL, 10) << 20;
  size_t step = page;
  int is_huge = 0, writes = 1, is_file = 0, is_split = 0;
  size_t later = 0, moved = 0;
  void* to_move = NULL;
  pid_t child = 0;
  uint32_t* order = NULL;
  double rate = 0;
  for (int i = 3; i < count; ++i) {
    if (!strcmp(words[i], "scattered")) step = bytes / hot * page;
    if (!strcmp(words[i], "huge")) is_huge = 1;
    if (!strcmp(words[i], "read")) writes = 0;
    if (!strcmp(words[i], "file")) is_file = 1;
    if (!strcmp(words[i], "split")) is_split = 1;
    if (!strncmp(words[i], "cold=", 5)) filled(strtoul(words[i] + 5, NULL, 10) << 20);
    if (!strncmp(words[i], "hidden=", 7)) {
      size_t hidden = strtoul(words[i] + 7, NULL, 10) << 20;
      if (mprotect(filled(hidden), hidden, PROT_NONE)) return 1;
    }
    if (!strncmp(words[i], "mappings=", 9)) {
      size_t mappings = strtoul(words[i] + 9, NULL, 10);
      char* first = filled(mappings * page);
      for (size_t j = 1; j < mappings; j += 2)
        if (mprotect(first + j * page, page, PROT_READ)) return 1;
    }
    if (!strncmp(words[i], "moved=", 6)) {
      moved = strtoul(words[i] + 6, NULL, 10) << 20;
      to_move = filled(moved);
    }
    if (!strncmp(words[i], "later=", 6)) later = strtoul(words[i] + 6, NULL, 10) << 20;
    if (!strcmp(words[i], "reserved")) {  // addresses without memory
      size_t tera = (size_t)1 << 40;
      for (int j = 0; j < 16; ++j)
        if (mmap(NULL, tera, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0) == MAP_FAILED)
          return 1;
    }
    if (!strcmp(words[i], "random")) order = shuffled(hot / page);
    if (!strncmp(words[i], "rate=", 5)) rate = atof(words[i] + 5) * (1 << 20);
  }
  // With an inaccessible page on both sides, so that it stays a separate mapping.
  char* all =
      mmap(NULL, bytes + 2 * huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return 1;
  char* memory = (char*)(((uintptr_t)all + huge) & ~(huge - 1));
  if (memory == all) memory += huge;
  if (mprotect(memory, bytes, PROT_READ | PROT_WRITE)) return 1;
  if (is_file) {
    int file = memfd_create("hot", 0);
    if (file < 0 || ftruncate(file, (off_t)bytes)) return 1;
    if (mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
      return 1;
  }
  signal(SIGUSR1, atSignal);
  madvise(memory, bytes, is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  for (size_t at = 0; at < bytes; at += page) memory[at] = 1;
  for (int i = 3; i < count; ++i)  // from its end
    if (!strncmp(words[i], "locked=", 7)) {
      size_t locked = strtoul(words[i] + 7, NULL, 10) << 20;
      if (mlock(memory + bytes - locked, locked)) return 1;
    }
  for (int i = 3; i < count; ++i)  // memory that it will not touch
    if (!strcmp(words[i], "swapped") && madvise(memory + hot, bytes - hot, MADV_PAGEOUT)) return 1;
  for (int i = 3; i < count; ++i)
    if (!strcmp(words[i], "child") && (child = fork()) == 0)
      for (;;) pause();
  size_t pages = hot / page;
  double next = now();
  for (uint64_t round = 0;; ++round) {
    for (const size_t part = (size_t)64 << 20; is_later && later != 0;
         later -= part < later ? part : later)
      filled(part);
    if (is_later && moved > 0) {
      void* place =
          mmap(NULL, moved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (mremap(to_move, moved, moved, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED)
        return 1;
      moved = 0;
    }
    if (is_later && child > 0) {
      kill(child, SIGKILL);
      waitpid(child, NULL, 0);
      child = 0;
    }
    if (is_later && is_split) mprotect(memory, hot, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (size_t i = 0; i < pages; ++i) {
      if (rate > 0 && round > 0)
        for (next += (double)page / rate; now() < next;) continue;
      volatile char* at = memory + (order ? order[i] : i) * step + round % 64 * 64;
      if (writes)
        *at += 1;
      else
        (void)*at;
    }
    if (round == 0) {
      next = now();
      printf("%p %zu\n", (void*)memory, bytes);
      fflush(stdout);
    }
  }
}
