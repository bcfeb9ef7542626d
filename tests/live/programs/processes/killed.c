// Holds memory and is killed by SIGKILL: from itself, or (killed wait) from another process; until
// then, each SIGUSR1 makes it allocate 77,777 more bytes.
#include <signal.h>

#include "expect.h"

static void wake(int number) { (void)number; }

int main(int count, char** words) {
  void* p;
  signal(SIGUSR1, wake);
  (void)words;
  for (int i = 1; i <= 10; ++i)
    must(cudaMalloc(&p, (size_t)i * 1000), 0), took(DEVICE, (uint64_t)i * 1000);
  must(cudaFree(p), 0), gave(DEVICE, 10000);
  if (finish() != 0) return 98;
  while (count > 1) {
    pause();
    must(cudaMalloc(&p, 77777), 0);
  }
  return kill(getpid(), SIGKILL);
}
