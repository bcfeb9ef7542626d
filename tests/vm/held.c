// held small|large|reserved: has 8 MiB of memory that nobody may touch (PROT_NONE), in pages of 4
// KiB or of 2 MiB; or in reserved huge pages of 64 KiB, which an arm64 kernel has. Prints where it
// begins, and waits.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char** words) {
  const size_t bytes = 8 << 20, large = 2 << 20;
  const int k64KiB = 16 << 26;
  if (count != 2) return 2;
  int is_reserved = strcmp(words[1], "reserved") == 0, is_large = strcmp(words[1], "large") == 0;
  char* memory = mmap(NULL, bytes + large, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | (is_reserved ? MAP_HUGETLB | k64KiB : 0), -1,
                       0);
  if (memory == MAP_FAILED) return 1;
  memory += large - (size_t)memory % large;
  if (!is_reserved) madvise(memory, bytes, is_large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  memset(memory, 1, bytes);
  if (!is_reserved && mprotect(memory, bytes, PROT_NONE) != 0) return 1;
  printf("%p %zu\n", (void*)memory, bytes);
  fflush(stdout);
  pause();
  return 0;
}
