// touch RSS_MIB HOT_MIB [scattered] [huge] [read] [locked] [swapped]: has RSS_MIB of memory and touches HOT_MIB
// of it, page by page, round and round, until it is ended. What it touches is the truth that `wss` is held against.
//
//   contiguous: the first HOT_MIB      scattered: every (RSS / HOT)th page
//
// Prints "ADDRESS BYTES" of the memory once all of it is there and one round is done. One core is enough.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(int count, char** words) {
  const size_t page = 4096, huge = 2 << 20;
  if (count < 3) return 2;
  size_t bytes = strtoul(words[1], NULL, 10) << 20, hot = strtoul(words[2], NULL, 10) << 20;
  size_t step = page;
  int is_huge = 0, writes = 1;
  for (int i = 3; i < count; ++i) {
    if (!strcmp(words[i], "scattered")) step = bytes / hot * page;
    if (!strcmp(words[i], "huge")) is_huge = 1;
    if (!strcmp(words[i], "read")) writes = 0;
  }
  // With a page that nobody may touch on both sides, so that it stays a mapping of its own.
  char* all = mmap(NULL, bytes + 2 * huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return 1;
  char* memory = (char*)(((uintptr_t)all + huge) & ~(huge - 1));
  if (memory == all) memory += huge;
  if (mprotect(memory, bytes, PROT_READ | PROT_WRITE)) return 1;
  madvise(memory, bytes, is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  for (size_t at = 0; at < bytes; at += page) memory[at] = 1;
  for (int i = 3; i < count; ++i)  // a little of it, in the middle
    if (!strcmp(words[i], "locked") && mlock(memory + bytes / 2, 4 << 20)) return 1;
  for (int i = 3; i < count; ++i)  // what it will not touch
    if (!strcmp(words[i], "swapped") && madvise(memory + hot, bytes - hot, MADV_PAGEOUT)) return 1;
  size_t pages = hot / page;
  for (uint64_t round = 0;; ++round) {
    for (size_t i = 0; i < pages; ++i) {
      volatile char* at = memory + i * step + round % 64 * 64;
      if (writes)
        *at += 1;
      else
        (void)*at;
    }
    if (round == 0) {
      printf("%p %zu\n", (void*)memory, bytes);
      fflush(stdout);
    }
  }
}
