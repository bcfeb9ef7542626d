// pinned: 8 MiB of host memory that CUDA pins, 4 MiB that it registers, and 16 MiB of ordinary
// memory. It touches the first quarter of each repeatedly, until its input ends. Prints a line when
// all of it is resident.
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

#define MIB (1 << 20)

static void touch(char* memory, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 4096) ((volatile char*)memory)[at] += 1;
}

int main(void) {
  void* pinned;
  char *registered = aligned_alloc(2 * MIB, 4 * MIB), *own = aligned_alloc(2 * MIB, 16 * MIB);
  must(cudaHostAlloc(&pinned, 8 * MIB, 0), 0);
  must(cudaHostRegister(registered, 4 * MIB, 0), 0);
  memset(pinned, 1, 8 * MIB), memset(registered, 1, 4 * MIB), memset(own, 1, 16 * MIB);
  printf("ready\n"), fflush(stdout);
  for (struct pollfd input = {0, POLLIN, 0}; poll(&input, 1, 1) == 0;)
    touch(pinned, 2 * MIB), touch(registered, 1 * MIB), touch(own, 4 * MIB);
  return 0;
}
