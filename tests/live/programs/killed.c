// Holds memory and is killed by SIGKILL: by itself, or (killed wait) by someone else.
#include <signal.h>

#include "expect.h"

int main(int count, char** words) {
  void* p;
  (void)words;
  for (int i = 1; i <= 10; ++i)
    must(cudaMalloc(&p, (size_t)i * 1000), 0), took(DEVICE, (uint64_t)i * 1000);
  must(cudaFree(p), 0), gave(DEVICE, 10000);
  if (finish() != 0) return 98;
  while (count > 1) pause();
  return kill(getpid(), SIGKILL);
}
