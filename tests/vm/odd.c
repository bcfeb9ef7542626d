// odd: memory that is easily misjudged. 16 MiB in huge pages that it only reads, which are all the
// shared zero page; and 8 MiB of reserved huge pages in a file without a telltale name (memfd).
// Prints where both begin, and waits.
#define _GNU_SOURCE
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
  const size_t huge = 2 << 20, bytes = 16 << 20, reserved = 8 << 20;
  char* zeros =
      mmap(NULL, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int file = memfd_create("pool", MFD_HUGETLB);
  if (zeros == MAP_FAILED || file < 0 || ftruncate(file, (off_t)reserved)) err(1, "memory");
  zeros += huge - (size_t)zeros % huge;
  madvise(zeros, bytes, MADV_HUGEPAGE);
  for (size_t at = 0; at < bytes; at += huge)
    if (((volatile char*)zeros)[at] != 0) errx(1, "zeros");
  char* pool = mmap(NULL, reserved, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pool == MAP_FAILED) err(1, "reserved huge pages");
  memset(pool, 1, reserved);
  printf("%p %p\n", (void*)zeros, (void*)pool);
  fflush(stdout);
  pause();
  return 0;
}
