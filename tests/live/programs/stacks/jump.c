// Calls that are left by siglongjmp() and never return. Run with FAKE_GPU_FAIL=cuMemAlloc_v2@2=-10:
// the second call raises SIGUSR1 (10) inside the driver.
#include <setjmp.h>
#include <signal.h>

#include "expect.h"

static sigjmp_buf back;
static void jump(int number) {
  (void)number;
  siglongjmp(back, 1);
}

static __attribute__((noinline)) void deep(int depth, size_t bytes) {
  volatile char room[512];
  room[0] = 0;
  if (depth > 0) {
    deep(depth - 1, bytes);
    if (room[0] != 0) abort();  // a use after the call, so that each depth has its own frame
    return;
  }
  void* p;
  must(cudaMalloc(&p, bytes), 0), took(DEVICE, bytes);
}

int main(void) {
  signal(SIGUSR1, jump);
  deep(3, 1000);
  if (sigsetjmp(back, 1) == 0) {
    deep(10, 2000);
    return 97;  // not reached
  }
  deep(0, 3000);  // from a place above the frames that were left
  deep(3, 4000);
  deep(20, 5000);  // and from below them
  deep(10, 6000);
  return finish();
}
