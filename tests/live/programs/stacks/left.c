// Calls that siglongjmp() leaves out of the driver, repeatedly, and later calls from above and from
// below the abandoned frames. Nothing overwrites those: the functions below have much space that
// they never write. Run with FAKE_GPU_FAIL="cuMemAlloc_v2@2=-10;cuMemAlloc_v2@5=-10;…": each plan
// counts the calls that no plan before it has taken, and raises SIGUSR1 (10) inside the driver.
//
//   left TIMES [learn]: left TIMES times, in a frame of another depth each time, and three calls
//   after each. `learn` makes the three once before, and waits until the recorder knows how to
//   leave them
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>

#include "expect.h"

static sigjmp_buf back;
static void jump(int number) {
  (void)number;
  siglongjmp(back, 1);
}
void (*volatile touch)(void*);

// `depth` bytes further down, of which none is written.
static __attribute__((noinline)) void below(size_t depth, size_t bytes) {
  void* room = alloca(depth);
  if (touch) touch(room);
  void* p;
  must(cudaMalloc(&p, bytes), 0), took(DEVICE, bytes);
  if (touch) touch(room);
}
static __attribute__((noinline)) void belowByDriver(size_t depth, size_t bytes) {
  void* room = alloca(depth);
  if (touch) touch(room);
  CUdeviceptr p;
  must(cuMemAlloc_v2(&p, bytes), 0), took(DEVICE, bytes);
  if (touch) touch(room);
}

int main(int count, char** words) {
  int times = count > 1 ? atoi(words[1]) : 1;
  signal(SIGUSR1, jump);
  void* p;
  must(cudaMalloc(&p, 100), 0), took(DEVICE, 100);
  if (count > 2) {
    below(16384, 1000);
    belowByDriver(16384, 2000);
    below(16, 3000);
    sleep(1);
  }
  for (int i = 0; i < times; ++i) {
    if (sigsetjmp(back, 1) == 0) {
      below(512 + 128 * (size_t)i, 1);
      return 97;  // not reached: the driver raises the signal
    }
    below(16384, 1000 + (size_t)i);
    belowByDriver(16384, 2000 + (size_t)i);
    below(16, 3000 + (size_t)i);
  }
  return finish();
}
